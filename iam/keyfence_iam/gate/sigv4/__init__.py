"""Verification of AWS Signature Version 4."""

from keyfence_iam.gate.sigv4.authorization_header import SignatureError
from keyfence_iam.gate.sigv4.signature_verifier import SignatureVerifier

__all__ = ["SignatureError", "SignatureVerifier"]
