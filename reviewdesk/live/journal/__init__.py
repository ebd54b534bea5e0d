"""The journal of a run's replies on disk."""
