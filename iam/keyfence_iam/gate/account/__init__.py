"""The emulated AWS account: its roles, sessions and session tokens. These modules know nothing of HTTP."""
