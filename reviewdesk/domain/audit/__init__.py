"""Checks of a report against its own rules."""
