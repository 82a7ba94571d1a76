"""Every weakness of a policy is found by its code and name. A good policy has no findings."""

import json
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import keyfence_iam.lint
from keyfence_iam.lint import Finding, lint, lint_text
from keyfence_iam.lint.findings import LintRule
from keyfence_iam.policy import DocumentKind, document_kind, parse_policy
from tests.iam.lint.sample_policies import (
    GOOD_POLICIES,
    ROLE,
    WEAK_POLICIES,
    finding_names,
    policy,
    policy_allowing,
    policy_with_keys,
    statement,
)


def rules() -> set[tuple[str, str]]:
    modules = [import_module(f"keyfence_iam.lint.{module.name}") for module in iter_modules(keyfence_iam.lint.__path__)]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, LintRule)]
    return {(rule.code, rule.name) for rule in declared}


@pytest.mark.parametrize("name", WEAK_POLICIES)
def test_a_weakness_is_found_by_its_code_and_name(name: str) -> None:
    code, document = WEAK_POLICIES[name]
    findings = {(finding.code, finding.name) for finding in lint_text(json.dumps(document))}
    assert (code, name) in findings


@pytest.mark.parametrize(
    "name", ["missing-null-guard", "scan-granted", "no-closing-delimiter", "invalid-tenant-id", "for-any-value"]
)
def test_a_single_weakness_is_the_only_finding(name: str) -> None:
    assert finding_names(WEAK_POLICIES[name][1]) == [name]


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert rules() == {(code, name) for name, (code, _) in WEAK_POLICIES.items()}


@pytest.mark.parametrize("name", GOOD_POLICIES)
def test_a_good_policy_has_no_findings(name: str) -> None:
    assert lint_text(json.dumps(GOOD_POLICIES[name])) == []


def test_a_finding_names_the_statement_the_problem_and_the_fix() -> None:
    bad = statement("Allow", "dynamodb:Scan") | {"Sid": "Everything"}
    (finding,) = lint_text(
        json.dumps(policy(GOOD_POLICIES["leading keys of the caller's tenant"]["Statement"][0], bad))
    )
    assert finding == Finding(
        code="H1",
        name="scan-granted",
        location="Statement[1] (Everything)",
        problem="a Scan has no leading keys, so no condition on leading keys limits it",
        fix="Remove Scan: it returns the items of every tenant.",
    )
    assert finding.as_json()["location"] == "Statement[1] (Everything)"


def test_the_weaknesses_of_two_published_sample_policies_are_found() -> None:
    scanning = policy(
        statement(
            "Allow",
            ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:DescribeTable"],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/tenant}"]}},
        )
    )
    blank = policy(statement("Allow", "dynamodb:*", {"ForAllValues:StringEquals": {"dynamodb: LeadingKeys": ["acme"]}}))
    assert {"missing-null-guard", "scan-granted"} <= set(finding_names(scanning))
    assert {"blank-in-condition-key", "wildcard-action", "unfenced-data-call"} <= set(finding_names(blank))


def test_a_sid_exempts_only_from_the_code_it_names_and_only_from_rules_that_allow_it() -> None:
    scan = statement("Allow", "dynamodb:Scan")
    assert finding_names(policy(scan | {"Sid": "AcceptH19Scan"})) == ["scan-granted"]
    assert finding_names(policy(scan | {"Sid": "ScanOfH1"})) == ["scan-granted"]
    without_guard = WEAK_POLICIES["missing-null-guard"][1]["Statement"][0]
    assert finding_names(policy(without_guard | {"Sid": "AcceptH1"})) == ["missing-null-guard"]


@pytest.mark.parametrize(
    "bad",
    [
        statement("Deny", [], None, "*"),
        statement("Deny", "dynamodb:Scan", None, []),
        statement("Deny", "dynamodb:Scan", {"Null": {"dynamodb:LeadingKeys": []}}, "*"),
    ],
    ids=["actions", "resources", "values"],
)
def test_an_empty_list_is_found(bad: dict[str, Any]) -> None:
    assert finding_names(policy(bad)) == ["empty-list"]


def test_the_kind_that_the_caller_passes_is_used_instead_of_the_derived_one() -> None:
    assert finding_names(policy_allowing("dynamodb:GetItem"), "trust") == ["not-a-policy"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"Statement": 1}', '{"Version": "2012-10-17"}'])
def test_a_text_that_is_not_a_policy_is_a_finding(text: str) -> None:
    assert [finding.name for finding in lint_text(text)] == ["not-a-policy"]


def test_an_escaped_character_that_policies_cannot_have_is_found() -> None:
    text = json.dumps(policy_with_keys("TENANT#\u4e2d#*"))
    assert "\\u4e2d" in text
    assert [finding.name for finding in lint_text(text)] == ["non-ascii-character"]


def test_a_latin_1_letter_is_found_in_its_statement() -> None:
    assert [(one.name, one.location) for one in lint(parse_policy(policy_with_keys("TENANT#caf\u00e9#*")))] == [
        ("non-ascii-character", "Statement[0]"),
        ("invalid-tenant-id", "Statement[0]"),
    ]


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ({"Action": "sts:AssumeRole", "Resource": "*"}, "is not allowed in a trust policy"),
        ({"Action": "dynamodb:GetItem"}, "Resource is missing"),
    ],
    ids=str,
)
def test_a_document_that_is_valid_as_no_kind_of_policy_is_a_finding(elements: dict[str, Any], problem: str) -> None:
    (finding,) = lint_text(json.dumps(policy({"Effect": "Allow", "Principal": {"AWS": ROLE}, **elements})))
    assert (finding.name, finding.problem) == ("not-a-policy", problem)


@pytest.mark.parametrize(
    ("elements", "kind"),
    [
        ({"Action": "dynamodb:GetItem", "Resource": "*"}, "identity"),
        ({"Principal": "*", "Action": ["sts:AssumeRole", "sts:TagSession"]}, "trust"),
        ({"NotPrincipal": {"AWS": ROLE}, "NotAction": "STS:*"}, "trust"),
        ({"Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*"}, "resource"),
        ({"Principal": "*", "Action": "*", "Resource": "*"}, "resource"),
        ({"Principal": "*", "Action": "sts:AssumeRole", "Resource": "*"}, "trust"),
        ({"Principal": "*", "Action": "dynamodb:GetItem"}, "resource"),
        ({"Principal": "*", "Action": ["sts:AssumeRole", "dynamodb:GetItem"]}, "resource"),
    ],
    ids=str,
)
def test_the_kind_of_a_document_is_derived_from_its_principals_and_actions(
    elements: dict[str, Any], kind: DocumentKind
) -> None:
    assert document_kind({"Statement": {"Effect": "Allow", **elements}}) == kind
    assert document_kind({"Statement": [{"Effect": "Allow", **elements}]}) == kind
