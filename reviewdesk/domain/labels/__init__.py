"""Chooses which items to label, and computes what the labels say about a run."""
