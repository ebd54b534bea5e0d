"""Results of promptfoo: rows, their graders as juries, their other assertions as checks."""
