"""Every hole that a policy's text can show is found by its name, and nothing is found where there is none."""

import json
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import keyfence_iam.lint
from keyfence_iam.lint import Finding, lint, lint_text
from keyfence_iam.lint.statement import LintRule
from keyfence_iam.policy import DocumentKind, parse_policy
from keyfence_iam.tenant import tenant_key_prefix
from tests.unit.iam.lint.sample_policies import (
    GOOD,
    HOLES,
    OWN,
    TABLE,
    fenced,
    granting,
    policy,
    statement,
    trust,
    trusting,
)


def found(document: dict[str, Any], kind: DocumentKind | None = None) -> list[str]:
    return [finding.name for finding in lint_text(json.dumps(document), kind)]


def rules() -> set[tuple[str, str]]:
    modules = [import_module(f"keyfence_iam.lint.{module.name}") for module in iter_modules(keyfence_iam.lint.__path__)]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, LintRule)]
    return {(rule.code, rule.name) for rule in declared}


@pytest.mark.parametrize("name", HOLES)
def test_a_hole_is_found_by_its_number_and_name(name: str) -> None:
    hole, document = HOLES[name]
    findings = {(finding.code, finding.name) for finding in lint_text(json.dumps(document))}
    assert (hole, name) in findings


@pytest.mark.parametrize(
    "name", ["missing-null-guard", "scan-granted", "no-closing-delimiter", "unclean-tenant", "for-any-value"]
)
def test_a_hole_that_stands_alone_is_found_alone(name: str) -> None:
    assert found(HOLES[name][1]) == [name]


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert rules() == {(hole, name) for name, (hole, _) in HOLES.items()}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_policy_raises_no_alarm(name: str) -> None:
    assert lint_text(json.dumps(GOOD[name])) == []


def test_a_finding_names_the_statement_the_problem_and_the_fix() -> None:
    bad = statement("Allow", "dynamodb:Scan") | {"Sid": "Everything"}
    (finding,) = lint_text(json.dumps(policy(GOOD["a fence"]["Statement"][0], bad)))
    assert finding == Finding(
        code="H1",
        name="scan-granted",
        location="Statement[1] (Everything)",
        problem="Scan has no leading keys: no condition on them narrows it",
        fix="Take Scan out: it returns every tenant's items.",
    )
    assert finding.as_json()["place"] == "Statement[1] (Everything)"


def test_a_misspelled_key_is_told_what_was_meant() -> None:
    for name in ("blank-in-condition-key", "unknown-condition-key"):
        problems = [one.problem for one in lint_text(json.dumps(HOLES[name][1])) if one.name == name]
        assert "did you mean dynamodb:LeadingKeys?" in problems[0]


@pytest.mark.parametrize(
    "key", ["LeadingKeys", "dynamo:LeadingKeys", "dynamodb:ResourceTag/tenant", "aws:PrincipalTag/"]
)
def test_a_key_that_no_request_has_is_unknown(key: str) -> None:
    document = policy(statement("Allow", "dynamodb:DescribeTable", {"StringEquals": {key: "x"}}))
    assert found(document) == ["unknown-condition-key"]


@pytest.mark.parametrize(
    "value", ["TENANT#*", "TENANT#*#*", "TENANT#${*}#*", "TENANT#a?me#*", "TENANT#ACME#*", "TENANT##*"]
)
def test_a_literal_that_is_no_tenants_id_is_unclean(value: str) -> None:
    assert found(fenced(value)) == ["unclean-tenant"]


@pytest.mark.parametrize("value", ["TENANT#acme*", "TENANT#acme?", "TENANT#${aws:PrincipalTag/tenant}-*"])
def test_an_open_end_is_found(value: str) -> None:
    assert found(fenced(value)) == ["no-closing-delimiter"]


@pytest.mark.parametrize("value", ["*", "ORDERS", "CONTROL*", "t#*"])
def test_a_partition_of_everybody_is_shared(value: str) -> None:
    assert found(fenced(value)) == ["shared-partition"]


@pytest.mark.parametrize("value", ["*${aws:PrincipalTag/tenant}#*", "EMAIL#${aws:PrincipalTag/tenant}#x"])
def test_a_tenant_behind_something_else_does_not_lead(value: str) -> None:
    assert "tenant-not-leading" in found(fenced(value))


@pytest.mark.parametrize(
    ("resource", "wide"),
    [
        (TABLE, False),
        (f"{TABLE}/index/*", False),
        (f"{TABLE}/index/GSI?", False),
        (f"{TABLE}/stream/*", False),
        (f"{TABLE}/*", True),
        (f"{TABLE}*", True),
        (f"{TABLE}/ind*", True),
        (TABLE.replace("app", "*"), True),
        (TABLE.replace("app", "ap?"), True),
        ("arn:aws:dynamodb:*:*:*", True),
        ("*", True),
    ],
)
def test_a_wildcard_is_wide_where_it_takes_in_more_than_names(resource: str, wide: bool) -> None:
    document = policy(statement("Allow", "dynamodb:DescribeTable", None, resource))
    assert ("table-wildcard" in found(document)) == wide


@pytest.mark.parametrize(
    ("tenant", "name"),
    [
        ("${aws:PrincipalTag/tenant}*", "table-wildcard"),
        ("${aws:PrincipalTag/tenant}?", "table-wildcard"),
        ("${aws:PrincipalTag/tenant}-*", "table-wildcard"),
        ("*", "table-wildcard"),
        ("${aws:username}", "fence-on-another-variable"),
        ("${aws:RequestTag/tenant}", "fence-on-another-variable"),
        ("${aws:PrincipalTag/tenant, 'acme'}", "variable-with-default"),
        ("${aws:PrincipalTag/Tenant}", "tag-key-spelling"),
    ],
)
@pytest.mark.parametrize("index", ["", "/index/GSI1"])
def test_a_silo_that_is_not_the_tenants_alone_is_found(tenant: str, name: str, index: str) -> None:
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": OWN}, "Null": {"dynamodb:LeadingKeys": "false"}}
    document = policy(statement("Allow", "dynamodb:Query", condition, f"{TABLE}-silo-{tenant}{index}"))
    assert found(document) == [name]
    accepting = document["Statement"][0] | {"Sid": "AcceptH29"}
    assert found(policy(accepting)) == [name], "no item call is exempt"


def test_a_guard_alone_is_no_fence() -> None:
    document = policy(statement("Allow", "dynamodb:GetItem", {"Null": {"dynamodb:LeadingKeys": "false"}}))
    assert found(document) == ["unfenced-data-call"]


def test_the_two_public_samples_that_leak_are_caught() -> None:
    scanning = policy(
        statement(
            "Allow",
            ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:DescribeTable"],
            {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:PrincipalTag/tenant}"]}},
        )
    )
    blank = policy(statement("Allow", "dynamodb:*", {"ForAllValues:StringEquals": {"dynamodb: LeadingKeys": ["acme"]}}))
    assert {"missing-null-guard", "scan-granted"} <= set(found(scanning))
    assert {"blank-in-condition-key", "wildcard-action", "unfenced-data-call"} <= set(found(blank))


def test_a_sid_accepts_only_the_hole_it_names_and_only_what_may_be_accepted() -> None:
    scan = statement("Allow", "dynamodb:Scan")
    assert found(policy(scan | {"Sid": "AcceptH19Scan"})) == ["scan-granted"]
    assert found(policy(scan | {"Sid": "ScanOfH1"})) == ["scan-granted"]
    vacuous = HOLES["missing-null-guard"][1]["Statement"][0]
    assert found(policy(vacuous | {"Sid": "AcceptH1"})) == ["missing-null-guard"]


def test_a_trust_without_the_tag_is_a_hole_for_roles_and_none_for_services() -> None:
    assert found(trust("sts:AssumeRole")) == ["tag-not-demanded"]
    assert found(trust("sts:AssumeRole", {"Service": "lambda.amazonaws.com"})) == []
    assert "tag-not-demanded" in found(trust(principal={"Service": "pods.eks.amazonaws.com"}))


@pytest.mark.parametrize(
    "condition",
    [
        {"Null": {"aws:RequestTag/tenant": "false", "sts:TransitiveTagKeys": "true"}, "StringLike": None},
        {"StringLike": {"aws:RequestTag/tenant": ["?*", ""]}},
        {"StringLike": {"aws:RequestTag/tenant": "**"}},
    ],
    ids=str,
)
def test_a_trust_that_takes_an_empty_tag_is_found(condition: dict[str, Any]) -> None:
    assert found(trusting(**condition)) == ["empty-tag-accepted"]


@pytest.mark.parametrize(
    "condition",
    [
        {"ForAllValues:StringEquals": None, "ForAllValues:StringLike": {"aws:TagKeys": "*"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringLike": {"aws:TagKeys": "tenant*"}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": ["tenant", "team"]}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": "team"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringEqualsIgnoreCase": {"aws:TagKeys": "tenant"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringNotEquals": {"aws:TagKeys": "tenant"}},
    ],
    ids=str,
)
def test_a_trust_that_takes_other_tags_is_found_by_its_values(condition: dict[str, Any]) -> None:
    assert "other-tags-accepted" in found(trusting(**condition))


@pytest.mark.parametrize(
    "condition",
    [
        {"Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": "false"}},
        {"Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": ["true", "false"]}},
        {
            "Null": {"aws:TagKeys": "false"},
            "ForAllValues:StringEquals": {"aws:TagKeys": "tenant", "sts:TransitiveTagKeys": "tenant"},
        },
    ],
    ids=str,
)
def test_a_trust_that_lets_tags_be_handed_on_is_found_by_its_values(condition: dict[str, Any]) -> None:
    assert "transitive-tags" in found(trusting(**condition))


@pytest.mark.parametrize(
    "variable",
    ["aws:userid", "aws:username", "aws:SourceIdentity", "aws:PrincipalTag/team", "aws:RequestTag/tenant", "saml:sub"],
)
@pytest.mark.parametrize("start", ["", "TENANT#"])
def test_a_fence_on_a_variable_that_is_not_the_tenant_is_found(variable: str, start: str) -> None:
    assert "fence-on-another-variable" in found(fenced(f"{start}${{{variable}}}#*"))


@pytest.mark.parametrize(
    "action", ["dynamodb:DeleteTable", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive", "dynamodb:DeleteBackup"]
)
def test_administration_beside_item_calls_is_found_in_any_statement(action: str) -> None:
    fence = GOOD["a fence"]["Statement"][0]
    administration = statement("Allow", action)
    assert found(policy(fence, administration)) == ["table-administration"]
    assert found(policy(administration, fence)) == ["table-administration"]
    assert found(granting("dynamodb:GetItem", action)) == [], "behind a guard it is never granted"


def test_the_end_of_a_table_is_found_though_no_item_call_stands_beside_it() -> None:
    assert found(policy(statement("Allow", ["dynamodb:UpdateTable", "dynamodb:DeleteTable"]))) == [
        "table-administration"
    ]


@pytest.mark.parametrize("resource", ["arn:aws:dynamodb:*", "arn:aws:dynamodb:us-east-1:*"])
def test_a_short_arn_is_too_wide(resource: str) -> None:
    assert found(policy(statement("Allow", "dynamodb:DescribeTable", None, resource))) == ["table-wildcard"]


@pytest.mark.parametrize(
    "bad",
    [
        statement("Deny", [], None, "*"),
        statement("Deny", "dynamodb:Scan", None, []),
        statement("Deny", "dynamodb:Scan", {"Null": {"dynamodb:LeadingKeys": []}}, "*"),
    ],
    ids=["actions", "resources", "values"],
)
def test_a_list_without_anything_in_it_is_found(bad: dict[str, Any]) -> None:
    assert found(policy(bad)) == ["empty-list"]


def test_a_kind_can_be_said_against_the_look() -> None:
    assert found(granting("dynamodb:GetItem"), "trust") == ["not-a-policy"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"Statement": 1}', '{"Version": "2012-10-17"}'])
def test_what_is_no_policy_is_found_and_not_raised(text: str) -> None:
    assert [finding.name for finding in lint_text(text)] == ["not-a-policy"]


def test_an_escaped_character_that_policies_cannot_hold_is_found() -> None:
    text = json.dumps(fenced("TENANT#\u4e2d#*"))
    assert "\\u4e2d" in text
    assert [finding.name for finding in lint_text(text)] == ["strange-character"]


def test_a_letter_of_latin_1_is_found_where_it_stands() -> None:
    assert [(one.name, one.location) for one in lint(parse_policy(fenced("TENANT#caf\u00e9#*")))] == [
        ("strange-character", "Statement[0]"),
        ("unclean-tenant", "Statement[0]"),
    ]


def test_the_fence_of_the_samples_is_the_projects_own() -> None:
    assert tenant_key_prefix("${aws:PrincipalTag/tenant}") + "*" == OWN
