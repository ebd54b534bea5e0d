"""The facts of the screens as plain text."""
