"""A fence to short-lived credentials: the only caller of STS."""

from keyfence_iam.sts.session_cache import SessionCache

__all__ = ["SessionCache"]
