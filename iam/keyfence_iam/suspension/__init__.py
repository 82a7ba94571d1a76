"""The guard before the tenant roles: the only caller of IAM."""

from keyfence_iam.suspension.client import NotShut, TooManySuspended, Warden

__all__ = ["NotShut", "TooManySuspended", "Warden"]
