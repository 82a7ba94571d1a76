"""The quantity of each product that was sold in each month."""
