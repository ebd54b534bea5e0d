"""What is said of panels that are asked, and of verdicts that are asked again."""
