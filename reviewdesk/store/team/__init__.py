"""What several people did on a desk: their labels beside each other, and what each has open."""
