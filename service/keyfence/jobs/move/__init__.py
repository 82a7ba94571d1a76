"""Moving a tenant to another table while it is served."""
