"""Parsers of DynamoDB expressions and PartiQL statements."""
