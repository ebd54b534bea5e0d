"""Strict readers of JSON, YAML and zip archives that report positions."""
