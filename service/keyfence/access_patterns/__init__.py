"""The report of every access pattern and its cost."""
