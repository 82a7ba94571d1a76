"""Expressions read exactly: conditions, key conditions, projections and updates."""
