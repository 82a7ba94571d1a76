"""Signature version 4, verified."""

from keyfence_iam.gate.sigv4.authorization_header import NotBelieved
from keyfence_iam.gate.sigv4.verifier import Verifier

__all__ = ["NotBelieved", "Verifier"]
