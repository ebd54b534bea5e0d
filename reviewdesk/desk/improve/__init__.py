"""From labels to a better panel: the split, candidates, tries and adoptions."""
