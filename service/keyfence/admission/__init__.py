"""Admission: decides whether a request may run now, and counts what it uses."""
