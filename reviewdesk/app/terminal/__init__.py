"""Terminal output: only the cells that change are sent."""
