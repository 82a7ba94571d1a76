"""Vending: STS sessions per role and tenant, requested once, cached and refreshed. The only caller of STS."""

from keyfence_iam.sts.session_cache import SessionCache

__all__ = ["SessionCache"]
