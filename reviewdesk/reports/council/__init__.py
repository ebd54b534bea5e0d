"""Ratings of lm-council."""
