"""What was sold of each product, by month."""
