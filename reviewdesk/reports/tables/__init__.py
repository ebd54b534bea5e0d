"""Tables of ratings, and the exports of tools that are tables."""
