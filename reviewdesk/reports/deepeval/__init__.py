"""Test runs of deepeval: metrics of one base name as one jury."""
