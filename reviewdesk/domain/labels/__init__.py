"""Which items are asked for, and what the labels say of a run."""
