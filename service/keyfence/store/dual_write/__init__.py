"""Writes to two tables and comparison of their answers, while a tenant moves from one table to the other."""
