"""Who is calling: from a bearer token to a principal."""
