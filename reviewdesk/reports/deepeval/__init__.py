"""The reader of deepeval test runs: metrics with the same base name form one jury."""
