"""Policy documents: values, the JSON they render to, and the strict reading of JSON into values."""

from keyfence_iam.policy.document import Condition, Effect, Policy, Statement, Version
from keyfence_iam.policy.json_reader import InvalidPolicy
from keyfence_iam.policy.parser import DocumentKind, parse_policy, parse_policy_text

__all__ = [
    "Condition",
    "DocumentKind",
    "Effect",
    "InvalidPolicy",
    "Policy",
    "Statement",
    "Version",
    "parse_policy",
    "parse_policy_text",
]
