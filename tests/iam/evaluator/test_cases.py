"""Every case of tests/cases/iam is decided as AWS documents it, and for the reason that it gives."""

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
LINES = [case for case in CASES if case.decided_by_line]
REQUESTS = [case for case in CASES if not case.decided_by_line]
NAMES = {"allowed", "implicit_deny", "explicit_deny", "invalid"}


@pytest.mark.parametrize("theme", sorted({case.theme for case in LINES}))
def test_a_line_is_decided(theme: str) -> None:
    lines = [case for case in LINES if case.theme == theme]
    answers = evaluate_lines([json.dumps(case.line).encode() for case in lines])
    assert [
        wrong for case, answer in zip(lines, answers, strict=True) for wrong in mismatches(case, json.loads(answer))
    ] == []


@pytest.mark.parametrize("theme", sorted({case.theme for case in REQUESTS}))
def test_a_callers_request_is_decided(theme: str) -> None:
    wrong = []
    for case in [case for case in REQUESTS if case.theme == theme]:
        decision = decided(case)
        wrong += mismatches(case, decision_json(decision))
        if isinstance(decision, Allowed) and decision.needs_identity_policy != case.fields.get("delegated", False):
            wrong.append(f"{case}: delegated is {decision.needs_identity_policy}")
    assert wrong == []


def decided(case: Case) -> Decision:
    line, principal = case.line, Principal(**case.fields["principal"])
    asked = AuthorizationRequest(line["action"], line["resource"], context(line["context"]))
    if "trust" in case.fields:
        return evaluate_trust(parse_policy(case.fields["trust"], kind="trust"), principal, asked)
    policies = Policies(
        identity=tuple(parse_policy(policy) for policy in line["identity"]),
        boundary=tuple(parse_policy(policy) for policy in line["boundary"]) if "boundary" in line else None,
        session=tuple(parse_policy(policy) for policy in line["session"]) if "session" in line else None,
        resource=tuple(parse_policy(policy, kind="resource") for policy in case.fields.get("resource_policies", [])),
    )
    return evaluate(policies, asked, principal)


def context(given: dict[str, Any]) -> dict[str, str | tuple[str, ...]]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}


def mismatches(case: Case, answer: dict[str, str]) -> list[str]:
    """Returns the case with its answer if the decision, its reason or the path of an error differ."""
    agrees = (
        answer["decision"] == case.fields["decision"]
        and answer["by"] == case.fields.get("by", answer["by"])
        and answer["by"].startswith(case.fields.get("path", ""))
    )
    return [] if agrees else [f"{case}: {answer}"]


def test_there_are_many_cases_and_no_two_are_alike() -> None:
    sentences = [case.fields["case"] for case in CASES]
    assert len(sentences) >= 300
    assert len(set(sentences)) == len(sentences)


def test_every_case_has_a_decision_and_a_reason() -> None:
    assert {case.fields["decision"] for case in CASES} == NAMES
    assert all(case.fields["why"] for case in CASES)
    assert all(
        "path" in case.fields for case in CASES if case.theme == "documents" and case.fields["decision"] == "invalid"
    )
