"""Gives out STS sessions for a role and a tenant, from a cache. No other package calls STS."""

from keyfence_iam.sts.session_cache import SessionCache

__all__ = ["SessionCache"]
