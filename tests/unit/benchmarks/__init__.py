"""The scale model has known answers where the answer is known."""
