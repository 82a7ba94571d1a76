"""The guard before the tenant roles: the only caller of IAM."""

from iam.warden.refusal import NotShut, TooManySuspended
from iam.warden.warden import Warden

__all__ = ["NotShut", "TooManySuspended", "Warden"]
