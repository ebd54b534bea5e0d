"""Long texts for reading: what kind a text is, its pages, its inks, its folds, its found words."""
