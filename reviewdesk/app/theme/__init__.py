"""Colours and the inks that painters name."""
