"""Every case in tests/cases/iam has the decision and the reason that AWS documents."""

import json
from typing import Any

import pytest

from keyfence.cli.policy import decision_json, evaluate_lines
from keyfence_iam.evaluator.decision import Allowed, Decision
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate, evaluate_trust
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal
from keyfence_iam.policy import parse_policy
from tests.iam.evaluator.json_cases import Case, cases

CASES = cases()
LINE_CASES = [case for case in CASES if case.fits_on_line]
REQUEST_CASES = [case for case in CASES if not case.fits_on_line]
DECISIONS = {"allowed", "implicit_deny", "explicit_deny", "invalid"}


@pytest.mark.parametrize("topic", sorted({case.topic for case in LINE_CASES}))
def test_a_line_has_the_decision_of_its_case(topic: str) -> None:
    lines = [case for case in LINE_CASES if case.topic == topic]
    results = evaluate_lines([json.dumps(case.line).encode() for case in lines])
    assert [
        wrong for case, result in zip(lines, results, strict=True) for wrong in mismatches(case, json.loads(result))
    ] == []


@pytest.mark.parametrize("topic", sorted({case.topic for case in REQUEST_CASES}))
def test_a_request_with_a_principal_has_the_decision_of_its_case(topic: str) -> None:
    wrong = []
    for case in [case for case in REQUEST_CASES if case.topic == topic]:
        decision = decision_of(case)
        wrong += mismatches(case, decision_json(decision))
        if isinstance(decision, Allowed) and decision.needs_identity_policy != case.fields.get("delegated", False):
            wrong.append(f"{case}: delegated is {decision.needs_identity_policy}")
    assert wrong == []


def decision_of(case: Case) -> Decision:
    line, principal = case.line, Principal(**case.fields["principal"])
    request = AuthorizationRequest(line["action"], line["resource"], context(line["context"]))
    if "trust" in case.fields:
        return evaluate_trust(parse_policy(case.fields["trust"], kind="trust"), principal, request)
    policies = Policies(
        identity=tuple(parse_policy(policy) for policy in line["identity"]),
        boundary=tuple(parse_policy(policy) for policy in line["boundary"]) if "boundary" in line else None,
        session=tuple(parse_policy(policy) for policy in line["session"]) if "session" in line else None,
        resource=tuple(parse_policy(policy, kind="resource") for policy in case.fields.get("resource_policies", [])),
    )
    return evaluate(policies, request, principal)


def context(values: dict[str, Any]) -> dict[str, str | tuple[str, ...]]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def mismatches(case: Case, result: dict[str, str]) -> list[str]:
    """Returns the case with its result if the decision, its reason or the path of an error differ."""
    agrees = (
        result["decision"] == case.fields["decision"]
        and result["by"] == case.fields.get("by", result["by"])
        and result["by"].startswith(case.fields.get("path", ""))
    )
    return [] if agrees else [f"{case}: {result}"]


def test_there_are_at_least_300_cases_with_different_sentences() -> None:
    sentences = [case.fields["case"] for case in CASES]
    assert len(sentences) >= 300
    assert len(set(sentences)) == len(sentences)


def test_every_case_has_a_decision_and_a_reason() -> None:
    assert {case.fields["decision"] for case in CASES} == DECISIONS
    assert all(case.fields["why"] for case in CASES)
    assert all(
        "path" in case.fields for case in CASES if case.topic == "documents" and case.fields["decision"] == "invalid"
    )
