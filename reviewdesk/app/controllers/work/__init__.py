"""What concerns the reviewer: what was seen, what comes back, and how the work goes."""
