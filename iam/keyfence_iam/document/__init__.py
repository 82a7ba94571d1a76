"""Policy documents: values, the JSON they render to, and the strict reading of JSON into values."""

from keyfence_iam.document.places import BadPolicy
from keyfence_iam.document.policy import Condition, Effect, Policy, Statement, Version
from keyfence_iam.document.reading import Kind, parse, parse_text

__all__ = ["BadPolicy", "Condition", "Effect", "Kind", "Policy", "Statement", "Version", "parse", "parse_text"]
