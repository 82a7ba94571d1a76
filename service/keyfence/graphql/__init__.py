"""Executes GraphQL requests within limits, and provides the parts from which domains declare their fields.

Imports no domain."""
