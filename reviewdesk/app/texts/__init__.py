"""Long texts for reading: their kinds, pages, inks, folds and search hits."""
