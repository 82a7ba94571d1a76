"""Benchmarks: run by hand, never asserted."""
