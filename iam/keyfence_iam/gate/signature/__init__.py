"""Signature version 4, verified."""

from keyfence_iam.gate.signature.refusal import NotBelieved
from keyfence_iam.gate.signature.verifier import Verifier

__all__ = ["NotBelieved", "Verifier"]
