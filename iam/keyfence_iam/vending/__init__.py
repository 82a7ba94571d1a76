"""A fence to short-lived credentials: the only caller of STS."""

from keyfence_iam.vending.vending import Vending

__all__ = ["Vending"]
