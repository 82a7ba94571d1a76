"""The page that lists every access pattern and its cost."""
