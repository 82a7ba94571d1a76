"""Deny policies that stop the live sessions of suspended tenants; the only caller of the IAM API."""

from keyfence_iam.suspension.iam_client import SuspensionFailed, TenantSuspension, TooManySuspended

__all__ = ["SuspensionFailed", "TenantSuspension", "TooManySuspended"]
