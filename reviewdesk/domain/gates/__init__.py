"""The expectations of a suite, and how juries and judges are checked against them."""
