"""Suspends tenants: Deny policies on the tenant roles stop the tenants' sessions.

No other package calls the IAM API.
"""

from keyfence_iam.suspension.iam_client import SuspensionFailed, TenantSuspension, TooManySuspended

__all__ = ["SuspensionFailed", "TenantSuspension", "TooManySuspended"]
