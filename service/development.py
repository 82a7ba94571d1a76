"""What marks the keys of a development machine, so that production can tell and refuse them."""

MARK = "dev-"
LOCAL_ISSUER = "https://keyfence.local/dev"
