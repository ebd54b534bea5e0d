"""Controllers: each carries out the actions of the review, the queue, the item or the desk."""
