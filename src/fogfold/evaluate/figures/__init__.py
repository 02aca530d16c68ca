"""Figures of the report, drawn by matplotlib as SVG that follows the colours and fonts of the page."""
