"""Sessions that have been ended before their tokens did."""
