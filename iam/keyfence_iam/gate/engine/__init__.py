"""The engine behind the gate, and the way to it."""
