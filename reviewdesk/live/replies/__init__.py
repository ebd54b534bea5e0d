"""What jurors reply, and how calls fail."""
