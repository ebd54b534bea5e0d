"""Read jurors' replies, and describe how calls fail."""
