"""What each action does: controllers of the review, the queue, the item and the desk."""
