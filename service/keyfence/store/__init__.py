"""The one table: keys, entities, patterns, expressions, cursors, and the calls that are made with them."""
