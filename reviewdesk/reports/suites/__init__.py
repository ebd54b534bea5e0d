"""Read suites of gates, with their nodes and matchers."""
