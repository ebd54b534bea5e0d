"""What the parts of an archive are put together by: repeated ids, the draw and the windows."""
