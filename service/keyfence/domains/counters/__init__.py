"""Counters that many writers can increment at the same time."""
