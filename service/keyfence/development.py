"""What marks the keys of a development machine, so that production can tell and refuse them."""

DEVELOPMENT_KEY_PREFIX = "dev-"
"""Begins the name or the text of every local secret."""
LOCAL_ISSUER = "https://keyfence.local/dev"
