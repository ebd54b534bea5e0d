"""The readers of tables: plain tables of ratings, and the table exports of tools."""
