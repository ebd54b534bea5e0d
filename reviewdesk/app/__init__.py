"""The terminal app: the only package that imports textual or rich."""
