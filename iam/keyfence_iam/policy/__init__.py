"""IAM policy documents: their classes, their JSON, and a strict parser."""

from keyfence_iam.policy.document import Condition, Effect, Policy, Statement, Version
from keyfence_iam.policy.json_reader import InvalidPolicy
from keyfence_iam.policy.parser import DocumentKind, document_kind, parse_policy, parse_policy_text

__all__ = [
    "Condition",
    "DocumentKind",
    "Effect",
    "InvalidPolicy",
    "Policy",
    "Statement",
    "Version",
    "document_kind",
    "parse_policy",
    "parse_policy_text",
]
