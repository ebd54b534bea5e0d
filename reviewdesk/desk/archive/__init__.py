"""Archives: many report parts, read where there is room, as one run of a small desk."""
