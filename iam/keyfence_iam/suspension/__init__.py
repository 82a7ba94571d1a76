"""The guard before the tenant roles: the only caller of IAM."""

from keyfence_iam.suspension.client import SuspensionFailed, TenantSuspension, TooManySuspended

__all__ = ["SuspensionFailed", "TenantSuspension", "TooManySuspended"]
