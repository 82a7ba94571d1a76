"""Puts the application together from all other packages. Only the commands import this package."""
