"""A report held to its own rules."""
