"""Evaluates IAM policies: the decision on an authorization request, and the reason for the decision."""

from keyfence_iam.evaluator.decision import POLICY_TYPE_NAMES, Allowed, Decision, Denied, access_denied_message
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate, evaluate_trust
from keyfence_iam.evaluator.explanation import ElementMatch, Explanation, StatementExplanation, explain
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal

__all__ = [
    "POLICY_TYPE_NAMES",
    "Allowed",
    "AuthorizationRequest",
    "Decision",
    "Denied",
    "ElementMatch",
    "Explanation",
    "Policies",
    "Principal",
    "StatementExplanation",
    "access_denied_message",
    "evaluate",
    "evaluate_trust",
    "explain",
]
