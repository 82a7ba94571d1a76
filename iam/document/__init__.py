"""Policy documents: values, the JSON they render to, and the strict reading of JSON into values."""

from iam.document.places import BadPolicy
from iam.document.policy import Condition, Effect, Policy, Statement, Version
from iam.document.reading import Kind, parse, parse_text

__all__ = ["BadPolicy", "Condition", "Effect", "Kind", "Policy", "Statement", "Version", "parse", "parse_text"]
