"""Tests of fogfold."""
