"""Decides whether a request runs now, and counts what it uses."""
