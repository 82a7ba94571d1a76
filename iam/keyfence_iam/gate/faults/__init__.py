"""Faults that are made to happen, so that tests can see what callers do about them."""
