"""Numbers that many add to at once."""
