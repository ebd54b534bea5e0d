"""Export labels from the desk and import labels into it."""
