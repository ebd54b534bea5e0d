"""Suites of gates: their nodes and matchers."""
