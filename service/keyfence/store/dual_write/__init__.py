"""While a tenant moves to another table: every write goes to both tables, and reads are compared."""
