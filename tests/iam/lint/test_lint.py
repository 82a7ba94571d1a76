"""Every weakness that the text of a policy can show is found by its code and name; good policies have no findings."""

import json
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import keyfence_iam.lint
from keyfence_iam.lint import Finding, TenantLayout, lint, lint_text
from keyfence_iam.lint.findings import LintRule
from keyfence_iam.policy import DocumentKind, Policy, Statement, document_kind, parse_policy
from keyfence_iam.tenant import tenant_key_prefix
from tests.iam.lint.sample_policies import (
    GOOD,
    OWN,
    ROLE,
    TABLE,
    WEAKNESSES,
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


@pytest.mark.parametrize("name", WEAKNESSES)
def test_a_weakness_is_found_by_its_code_and_name(name: str) -> None:
    code, document = WEAKNESSES[name]
    findings = {(finding.code, finding.name) for finding in lint_text(json.dumps(document))}
    assert (code, name) in findings


@pytest.mark.parametrize(
    "name", ["missing-null-guard", "scan-granted", "no-closing-delimiter", "invalid-tenant-id", "for-any-value"]
)
def test_a_single_weakness_is_the_only_finding(name: str) -> None:
    assert found(WEAKNESSES[name][1]) == [name]


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert rules() == {(code, name) for name, (code, _) in WEAKNESSES.items()}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_policy_has_no_findings(name: str) -> None:
    assert lint_text(json.dumps(GOOD[name])) == []


def test_a_finding_names_the_statement_the_problem_and_the_fix() -> None:
    bad = statement("Allow", "dynamodb:Scan") | {"Sid": "Everything"}
    (finding,) = lint_text(json.dumps(policy(GOOD["a fence"]["Statement"][0], bad)))
    assert finding == Finding(
        code="H1",
        name="scan-granted",
        location="Statement[1] (Everything)",
        problem="Scan has no leading keys: no condition on them limits it",
        fix="Remove Scan: it returns the items of every tenant.",
    )
    assert finding.as_json()["location"] == "Statement[1] (Everything)"


def test_a_finding_suggests_the_key_that_was_meant() -> None:
    for name in ("blank-in-condition-key", "unknown-condition-key"):
        problems = [one.problem for one in lint_text(json.dumps(WEAKNESSES[name][1])) if one.name == name]
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
def test_a_literal_that_is_not_one_tenant_id_is_found(value: str) -> None:
    assert found(fenced(value)) == ["invalid-tenant-id"]


@pytest.mark.parametrize("value", ["TENANT#acme*", "TENANT#acme?", "TENANT#${aws:PrincipalTag/tenant}-*"])
def test_a_missing_delimiter_is_found(value: str) -> None:
    assert found(fenced(value)) == ["no-closing-delimiter"]


@pytest.mark.parametrize("value", ["*", "ORDERS", "CONTROL*", "t#*"])
def test_a_partition_of_every_tenant_is_found(value: str) -> None:
    assert found(fenced(value)) == ["shared-partition"]


@pytest.mark.parametrize("value", ["*${aws:PrincipalTag/tenant}#*", "EMAIL#${aws:PrincipalTag/tenant}#x"])
def test_a_tenant_that_does_not_lead_the_key_is_found(value: str) -> None:
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
def test_a_wildcard_may_stand_only_in_names_of_indexes_and_streams(resource: str, wide: bool) -> None:
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
def test_a_silo_that_other_tenants_reach_is_found(tenant: str, name: str, index: str) -> None:
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": OWN}, "Null": {"dynamodb:LeadingKeys": "false"}}
    document = policy(statement("Allow", "dynamodb:Query", condition, f"{TABLE}-silo-{tenant}{index}"))
    assert found(document) == [name]
    accepting = document["Statement"][0] | {"Sid": "AcceptH29"}
    assert found(policy(accepting)) == [name], "no item call is exempt"


def test_a_null_guard_alone_fences_nothing() -> None:
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


def test_a_sid_accepts_only_the_code_it_names_and_only_rules_that_allow_it() -> None:
    scan = statement("Allow", "dynamodb:Scan")
    assert found(policy(scan | {"Sid": "AcceptH19Scan"})) == ["scan-granted"]
    assert found(policy(scan | {"Sid": "ScanOfH1"})) == ["scan-granted"]
    vacuous = WEAKNESSES["missing-null-guard"][1]["Statement"][0]
    assert found(policy(vacuous | {"Sid": "AcceptH1"})) == ["missing-null-guard"]


def test_a_trust_policy_must_require_the_tag_of_roles_but_not_of_services() -> None:
    assert found(trust("sts:AssumeRole")) == ["tag-not-required"]
    assert found(trust("sts:AssumeRole", {"Service": "lambda.amazonaws.com"})) == []
    assert "tag-not-required" in found(trust(principal={"Service": "pods.eks.amazonaws.com"}))


@pytest.mark.parametrize(
    "condition",
    [
        {"Null": {"aws:RequestTag/tenant": "false", "sts:TransitiveTagKeys": "true"}, "StringLike": None},
        {"StringLike": {"aws:RequestTag/tenant": ["?*", ""]}},
        {"StringLike": {"aws:RequestTag/tenant": "**"}},
    ],
    ids=str,
)
def test_a_trust_policy_that_accepts_an_empty_tag_is_found(condition: dict[str, Any]) -> None:
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
def test_a_trust_policy_that_accepts_other_tags_is_found(condition: dict[str, Any]) -> None:
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
def test_a_trust_policy_that_accepts_transitive_tags_is_found(condition: dict[str, Any]) -> None:
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
def test_table_administration_in_a_policy_with_item_actions_is_found(action: str) -> None:
    fence = GOOD["a fence"]["Statement"][0]
    administration = statement("Allow", action)
    assert found(policy(fence, administration)) == ["table-administration"]
    assert found(policy(administration, fence)) == ["table-administration"]
    assert found(granting("dynamodb:GetItem", action)) == [], "with a Null guard it is never granted"


def test_delete_table_is_found_in_a_policy_without_item_actions() -> None:
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
def test_an_empty_list_is_found(bad: dict[str, Any]) -> None:
    assert found(policy(bad)) == ["empty-list"]


def test_a_given_kind_wins_over_the_derived_one() -> None:
    assert found(granting("dynamodb:GetItem"), "trust") == ["not-a-policy"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"Statement": 1}', '{"Version": "2012-10-17"}'])
def test_a_text_that_is_not_a_policy_is_a_finding(text: str) -> None:
    assert [finding.name for finding in lint_text(text)] == ["not-a-policy"]


def test_an_escaped_character_that_policies_cannot_have_is_found() -> None:
    text = json.dumps(fenced("TENANT#\u4e2d#*"))
    assert "\\u4e2d" in text
    assert [finding.name for finding in lint_text(text)] == ["non-ascii-character"]


def test_a_latin_1_letter_is_found_in_its_statement() -> None:
    assert [(one.name, one.location) for one in lint(parse_policy(fenced("TENANT#caf\u00e9#*")))] == [
        ("non-ascii-character", "Statement[0]"),
        ("invalid-tenant-id", "Statement[0]"),
    ]


def test_the_samples_use_the_default_layout() -> None:
    assert tenant_key_prefix("${aws:PrincipalTag/tenant}") + "*" == OWN


CUSTOMERS = TenantLayout(session_tag="customer", key_prefix="C/{tenant}/", shared_prefixes=("SYSTEM/",))


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("C/${aws:PrincipalTag/customer}/*", []),
        ("C/acme/*", []),
        ("SYSTEM/*", []),
        ("C/${aws:PrincipalTag/tenant}/*", ["fence-on-another-variable"]),
        ("C/${aws:PrincipalTag/Customer}/*", ["tag-key-spelling"]),
        ("C/${aws:PrincipalTag/customer}#*", ["no-closing-delimiter"]),
        ("C/acme*", ["no-closing-delimiter"]),
        ("TENANT#acme#*", ["shared-partition"]),
        ("CONTROL#*", ["shared-partition"]),
    ],
)
def test_another_projects_tags_and_keys_are_checked_by_its_own_layout(value: str, names: list[str]) -> None:
    assert [finding.name for finding in lint_text(json.dumps(fenced(value)), layout=CUSTOMERS)] == names


def test_fixes_name_the_tags_and_keys_of_the_layout() -> None:
    (delimiter,) = lint_text(json.dumps(fenced("C/acme*")), layout=CUSTOMERS)
    (tag,) = lint_text(json.dumps(trust("sts:AssumeRole")), layout=CUSTOMERS)
    assert delimiter.fix.endswith("C/{tenant}/*.")
    assert '{"aws:RequestTag/customer": "?*"}' in tag.fix
    keyfences = [one.fix for _, document in WEAKNESSES.values() for one in lint_text(json.dumps(document))]
    assert not [fix for fix in keyfences if "<tag>" in fix or "<variable>" in fix or "<keys>" in fix]


def test_a_trust_policy_is_checked_for_the_tag_of_the_layout() -> None:
    """The samples require the tag tenant, which is just another tag in this layout."""
    names = {finding.name for finding in lint_text(json.dumps(trusting()), layout=CUSTOMERS)}
    assert names == {"tag-not-required", "other-tags-accepted"}


@pytest.mark.parametrize("prefix", ["T#", "{tenant}", "T#{tenant}", "{tenant}#{tenant}#"])
def test_a_layout_without_a_delimiter_after_the_tenant_is_rejected(prefix: str) -> None:
    with pytest.raises(ValueError, match="delimiter"):
        TenantLayout(key_prefix=prefix)


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


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ({"Action": "sts:AssumeRole", "Resource": "*"}, "is not allowed in a trust policy"),
        ({"Action": "dynamodb:GetItem"}, "Resource is missing"),
    ],
    ids=str,
)
def test_a_document_that_iam_accepts_as_no_kind_is_a_finding(elements: dict[str, Any], problem: str) -> None:
    (finding,) = lint_text(json.dumps(policy({"Effect": "Allow", "Principal": {"AWS": ROLE}, **elements})))
    assert (finding.name, finding.problem) == ("not-a-policy", problem)


def test_a_bracket_in_an_action_is_no_wildcard() -> None:
    """IAM knows only * and ?."""
    bracket = Statement(effect="Allow", actions=("dynamodb:[GS]can",), resources=(TABLE,))
    assert [finding.name for finding in lint(Policy(statements=(bracket,)))] == []
