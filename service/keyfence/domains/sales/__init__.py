"""How many of each product were sold in each month."""
