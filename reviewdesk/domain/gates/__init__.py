"""Expectations that a suite holds juries and judges to."""
