"""The reader of promptfoo results: graders become juries, other assertions become checks."""
