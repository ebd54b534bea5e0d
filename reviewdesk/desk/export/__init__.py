"""Runs written as reports and as pages."""
