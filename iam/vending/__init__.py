"""A fence to short-lived credentials: the only caller of STS."""

from iam.vending.vending import Vending

__all__ = ["Vending"]
