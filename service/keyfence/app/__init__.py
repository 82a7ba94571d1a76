"""The composition root: the only folder that knows all others."""
