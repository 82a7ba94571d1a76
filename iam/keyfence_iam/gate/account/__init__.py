"""The emulated account: roles, sessions, tokens; no HTTP."""
