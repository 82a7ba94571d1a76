"""The guard before the tenant roles: the only caller of IAM."""

from keyfence_iam.warden.refusal import NotShut, TooManySuspended
from keyfence_iam.warden.warden import Warden

__all__ = ["NotShut", "TooManySuspended", "Warden"]
