"""Spread work over processes and machines; callers pass in the functions."""
