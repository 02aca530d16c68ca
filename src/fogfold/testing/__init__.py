"""Builders and checks for those who write policies, adapters or scenarios of their own."""
