"""Suites held against reports, runs and labels files."""
