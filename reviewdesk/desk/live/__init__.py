"""Panels asked live: cases, batches and re-runs."""
