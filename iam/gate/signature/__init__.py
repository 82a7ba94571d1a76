"""Signature version 4, verified."""

from iam.gate.signature.refusal import NotBelieved
from iam.gate.signature.verifier import Verifier

__all__ = ["NotBelieved", "Verifier"]
