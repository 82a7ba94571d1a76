"""The emulated AWS account: roles, sessions and session tokens. No HTTP."""
