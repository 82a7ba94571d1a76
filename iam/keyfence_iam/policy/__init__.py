"""Policy documents: values, the JSON they render to, and the strict reading of JSON into values."""

from keyfence_iam.policy.document import Condition, Effect, Policy, Statement, Version
from keyfence_iam.policy.json_reader import BadPolicy
from keyfence_iam.policy.parser import Kind, parse, parse_text

__all__ = ["BadPolicy", "Condition", "Effect", "Kind", "Policy", "Statement", "Version", "parse", "parse_text"]
