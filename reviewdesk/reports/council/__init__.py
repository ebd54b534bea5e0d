"""The reader of lm-council ratings."""
