"""Benchmarks. They are run by hand, and assert nothing."""
