"""Policies with one weakness each, by the name of the rule that finds it, and policies without weaknesses."""

import json
from typing import Any

from keyfence_iam.lint import lint_text
from keyfence_iam.policy import DocumentKind

Json = dict[str, Any]

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/app"
ROLE = "arn:aws:iam::123456789012:role/api"
SESSION = "arn:aws:sts::123456789012:assumed-role/api/acme"
LEADING_KEYS = "dynamodb:LeadingKeys"
OWN_KEYS = "TENANT#${aws:PrincipalTag/tenant}#*"
NULL_GUARD = {"Null": {LEADING_KEYS: "false"}}
REVOKED_AT = "2026-01-01T00:00:00Z"


def finding_names(document: Json, kind: DocumentKind | None = None) -> list[str]:
    """Returns the names of the rules that the linter reports for a policy."""
    return [finding.name for finding in lint_text(json.dumps(document), kind)]


def policy(*statements: Json, version: str = "2012-10-17") -> Json:
    return {"Version": version, "Statement": list(statements)}


def statement(effect: str, actions: object, condition: Json | None = None, resource: object = TABLE) -> Json:
    elements = {"Effect": effect, "Action": actions, "Resource": resource}
    return elements | ({"Condition": condition} if condition else {})


def policy_with_keys(value: object = OWN_KEYS, operator: str = "ForAllValues:StringLike", **guard: Json) -> Json:
    """Returns a policy that allows GetItem with this condition on leading keys, and with a Null guard by default."""
    return policy(statement("Allow", "dynamodb:GetItem", {operator: {LEADING_KEYS: value}} | (guard or NULL_GUARD)))


def policy_allowing(*actions: str) -> Json:
    """Returns a policy that allows the actions on the partitions of the caller's tenant."""
    return policy(statement("Allow", list(actions), {"ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS}} | NULL_GUARD))


def policy_with_attributes(action: str, condition: Json | None = None) -> Json:
    """Returns a policy that allows the action for two attributes of the tenant's items, with a further condition."""
    limits = {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["PK", "name"]},
        "Null": {LEADING_KEYS: "false", "dynamodb:Attributes": "false"},
        "ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS},
    }
    return policy(statement("Allow", action, limits | (condition or {})))


TENANT_TAG_CONDITION: Json = {
    "StringLike": {"aws:RequestTag/tenant": "?*"},
    "ForAllValues:StringEquals": {"aws:TagKeys": "tenant"},
    "Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": "true"},
}
ASSUME_AND_TAG = ["sts:AssumeRole", "sts:TagSession"]


def trust_policy(actions: object = ASSUME_AND_TAG, principal: object = None, **conditions: Any) -> Json:
    """Returns a trust policy. In the names of `conditions`, `__` stands for a colon."""
    block = {name.replace("__", ":"): value for name, value in conditions.items()}
    elements = {"Effect": "Allow", "Principal": principal or {"AWS": ROLE}, "Action": actions}
    return policy(elements | ({"Condition": block} if block else {}))


def tenant_trust_policy(**changes: Any) -> Json:
    """Returns the trust policy of a tenant role with some operators of its condition replaced, or removed by None."""
    condition = TENANT_TAG_CONDITION | {name.replace("__", ":"): value for name, value in changes.items()}
    return trust_policy(**{name.replace(":", "__"): value for name, value in condition.items() if value is not None})


def resource_policy(effect: str = "Allow", principal: object = None, condition: Json | None = None) -> Json:
    return policy(statement(effect, "dynamodb:DescribeTable", condition) | {"Principal": principal or {"AWS": ROLE}})


WEAK_POLICIES: dict[str, tuple[str, Json]] = {
    "missing-null-guard": (
        "H1",
        policy(statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS}})),
    ),
    "if-exists-in-allow": ("H1", policy_with_keys(operator="ForAllValues:StringLikeIfExists")),
    "wildcard-action": ("H1", policy_allowing("dynamodb:Get*")),
    "not-action-in-allow": (
        "H1",
        policy({"Effect": "Allow", "NotAction": "dynamodb:DeleteTable", "Resource": TABLE}),
    ),
    "scan-granted": ("H1", policy_allowing("dynamodb:GetItem", "dynamodb:Scan")),
    "partiql-granted": (
        "H1",
        policy(statement("Allow", "dynamodb:PartiQLSelect", {"ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS}})),
    ),
    "blank-in-condition-key": (
        "H2",
        policy(
            statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {"dynamodb: LeadingKeys": OWN_KEYS}})
        ),
    ),
    "unknown-condition-key": (
        "H2",
        policy(statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {"dynamodb:LeadingKey": OWN_KEYS}})),
    ),
    "set-operator-on-single-value": (
        "H2",
        policy(
            statement("Allow", "sts:AssumeRole", {"ForAllValues:StringEquals": {"aws:PrincipalTag/tenant": "a1"}}, ROLE)
        ),
    ),
    "unknown-variable": ("H2", policy_with_keys("TENANT#${aws:PrincpalTag/tenant}#*")),
    "no-closing-delimiter": ("H4", policy_with_keys("TENANT#acme*")),
    "invalid-tenant-id": ("H5", policy_with_keys("TENANT#ac*me#*")),
    "for-any-value": ("H6", policy_with_keys(operator="ForAnyValue:StringLike")),
    "for-all-values-in-deny": (
        "H6",
        policy(statement("Deny", "dynamodb:GetItem", {"ForAllValues:StringLike": {LEADING_KEYS: "CONTROL#*"}})),
    ),
    "set-operator-missing": ("H7", policy_with_keys("TENANT#acme", operator="StringEquals")),
    "literal-wildcard": ("H7", policy_with_keys(operator="ForAllValues:StringEquals")),
    "negated-operator-in-allow": ("H8", policy_with_keys("CONTROL#*", operator="ForAllValues:StringNotLike")),
    "variable-with-default": ("H8", policy_with_keys("TENANT#${aws:PrincipalTag/tenant, 'acme'}#*")),
    "deny-skipped-without-tag": (
        "H8",
        policy(statement("Deny", "dynamodb:GetItem", {"ForAnyValue:StringLike": {LEADING_KEYS: OWN_KEYS}})),
    ),
    "tag-not-required": ("H8", trust_policy()),
    "tag-session-missing": ("H8", trust_policy("sts:AssumeRole", StringLike={"aws:RequestTag/tenant": "?*"})),
    "other-tags-accepted": ("H8", tenant_trust_policy(ForAllValues__StringEquals=None)),
    "empty-tag-accepted": ("H9", tenant_trust_policy(StringLike={"aws:RequestTag/tenant": "*"})),
    "empty-tag-opens-all": ("H9", policy_with_keys("TENANT#${aws:PrincipalTag/tenant}*")),
    "transitive-tags": ("H10", tenant_trust_policy(Null={"aws:TagKeys": "false"})),
    "role-tagging-granted": ("H10", policy(statement("Allow", "iam:TagRole", resource=ROLE))),
    "tag-key-spelling": ("H11", policy_with_keys("TENANT#${aws:PrincipalTag/Tenant}#*")),
    "case-ignored": ("H11", policy_with_keys("TENANT#acme", operator="ForAllValues:StringEqualsIgnoreCase")),
    "tenant-not-leading": ("H12", policy_with_keys("ORDER#${aws:PrincipalTag/tenant}#*")),
    "shared-partition": ("H13", policy_with_keys([OWN_KEYS, "ORDERS"])),
    "unfenced-data-call": ("H14", policy(statement("Allow", ["dynamodb:ConditionCheckItem"]))),
    "fence-on-another-variable": ("H8", policy_with_keys("TENANT#${aws:userid}#*")),
    "table-administration": ("H19", policy(statement("Allow", "dynamodb:DeleteTable"))),
    "empty-list": (
        "invalid",
        policy(statement("Deny", "dynamodb:Scan", {"StringEquals": {"aws:PrincipalTag/tenant": []}})),
    ),
    "return-values-open": ("H15", policy_with_attributes("dynamodb:UpdateItem")),
    "projection-not-required": ("H16", policy_with_attributes("dynamodb:Query")),
    "whole-item-replaced": (
        "H17",
        policy_with_attributes("dynamodb:PutItem", {"StringEquals": {"dynamodb:ReturnValues": "NONE"}}),
    ),
    "table-wide-call": (
        "H19",
        policy(statement("Allow", ["dynamodb:GetRecords", "dynamodb:ExportTableToPointInTime"])),
    ),
    "any-principal-trusted": ("H22", resource_policy(principal="*")),
    "not-principal-in-allow": (
        "H22",
        policy(statement("Allow", "dynamodb:DescribeTable") | {"NotPrincipal": {"AWS": ROLE}}),
    ),
    "session-as-principal": ("H22", resource_policy(principal={"AWS": SESSION})),
    "conditional-allow": ("H23", resource_policy(condition={"StringEquals": {"aws:PrincipalAccount": "123456789012"}})),
    "version-without-variables": (
        "H24",
        policy(statement("Allow", "dynamodb:DescribeTable"), version="2008-10-17"),
    ),
    "reversed-revocation": (
        "H27",
        policy(statement("Deny", "*", {"DateGreaterThan": {"aws:TokenIssueTime": REVOKED_AT}}, "*")),
    ),
    "table-wildcard": ("H29", policy(statement("Allow", "dynamodb:DescribeTable", resource=f"{TABLE}*"))),
    "role-wildcard": ("H29", policy(statement("Allow", "sts:AssumeRole", resource="arn:aws:iam::123456789012:role/*"))),
    "not-resource-in-allow": (
        "H29",
        policy({"Effect": "Allow", "Action": "dynamodb:DescribeTable", "NotResource": TABLE}),
    ),
    "non-ascii-character": ("H30", policy_with_keys("TENANT#\u0430cme#*")),
    "dax-granted": (
        "H31",
        policy(statement("Allow", "dax:GetItem", resource="arn:aws:dax:us-east-1:123456789012:cache/c")),
    ),
    "vector-search-granted": ("H32", policy_allowing("dynamodb:SearchVectors")),
    "not-a-policy": ("invalid", {"Statement": [{"Effect": "Allow", "Action": "dynamodb:GetItem"}]}),
}

GOOD_POLICIES: dict[str, Json] = {
    "leading keys of the caller's tenant": policy_with_keys(),
    "leading keys of one literal tenant": policy_with_keys("TENANT#acme#*"),
    "leading keys that equal one whole key": policy_with_keys(
        "TENANT#${aws:PrincipalTag/tenant}", "ForAllValues:StringEquals"
    ),
    "leading keys under their other condition key": policy(
        statement(
            "Allow",
            "dynamodb:GetItem",
            {
                "ForAllValues:StringLike": {"dynamodb:FirstPartitionKeyValues": OWN_KEYS},
                "Null": {"dynamodb:FirstPartitionKeyValues": "false"},
            },
        )
    ),
    "leading keys of the control plane": policy_with_keys("CONTROL#*"),
    "condition keys in mixed case": policy(
        statement(
            "Allow",
            "DynamoDB:getitem",
            {"ForAllValues:StringLike": {"DYNAMODB:leadingkeys": OWN_KEYS}, "Null": {"dynamodb:LEADINGKEYS": "False"}},
        )
    ),
    "an index by name and all indexes of one table": policy(
        statement(
            "Allow",
            "dynamodb:Query",
            {"ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS}} | NULL_GUARD,
            [f"{TABLE}/index/GSI1", f"{TABLE}/index/*"],
        )
    ),
    "a silo table and its index": policy(
        statement(
            "Allow",
            "dynamodb:Query",
            {"ForAllValues:StringLike": {LEADING_KEYS: OWN_KEYS}} | NULL_GUARD,
            [f"{TABLE}-silo-${{aws:PrincipalTag/tenant}}", f"{TABLE}-silo-${{aws:PrincipalTag/tenant}}/index/GSI1"],
        )
    ),
    "all silo tables, with exemptions in the Sid": policy(
        statement("Allow", ["dynamodb:CreateTable", "dynamodb:DeleteTable"], None, f"{TABLE}-silo-*")
        | {"Sid": "AcceptH19AcceptH29ManageSilos"}
    ),
    "a resource policy that denies everything": policy(
        statement("Deny", ["dynamodb:Scan", "dynamodb:PartiQL*"], None, "*")
    ),
    "a deny of calls without leading keys": policy(
        statement("Deny", "dynamodb:GetItem", {"Null": {LEADING_KEYS: "true"}}, "*")
    ),
    "a deny of another tenant's keys": policy(
        statement("Deny", "dynamodb:GetItem", {"ForAnyValue:StringLike": {LEADING_KEYS: "TENANT#globex#*"}})
    ),
    "a deny of a suspended tenant": policy(
        statement("Deny", "*", {"StringEquals": {"aws:PrincipalTag/tenant": ["acme"]}}, "*")
    ),
    "a deny of older sessions": policy(
        statement("Deny", "*", {"DateLessThan": {"aws:TokenIssueTime": REVOKED_AT}}, "*")
    ),
    "attributes that are listed, projected and not returned": policy_with_attributes(
        "dynamodb:UpdateItem", {"StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]}}
    ),
    "attributes that are read by projection": policy_with_attributes(
        "dynamodb:Query", {"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    ),
    "a scan with an exemption in the Sid": policy(
        statement("Allow", "dynamodb:Scan") | {"Sid": "AcceptH1ScanForBackfill"}
    ),
    "a stream with an exemption in the Sid": policy(
        statement("Allow", "dynamodb:GetRecords", None, f"{TABLE}/stream/*") | {"Sid": "AcceptH19Stream"}
    ),
    "the creation of a table without item actions": policy(
        statement("Allow", ["dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive"])
    ),
    "the deletion of a table with an exemption in the Sid": policy(
        statement("Allow", "dynamodb:DeleteTable") | {"Sid": "AcceptH19Trial"}
    ),
    "a deny of administration": policy(statement("Deny", ["dynamodb:DeleteTable", "dynamodb:UpdateTable"], None, "*")),
    "an action without a resource": policy(statement("Allow", "dynamodb:ListStreams", None, "*")),
    "condition keys of another service": policy(
        statement("Allow", "s3:ListBucket", {"StringLike": {"s3:prefix": "a/*"}}, "arn:aws:s3:::bucket")
    ),
    "a trust policy that requires the tag": tenant_trust_policy(),
    "a trust policy that forbids tags": trust_policy("sts:AssumeRole", Null={"aws:TagKeys": "true"}),
    "a trust policy for an AWS service": trust_policy("sts:AssumeRole", {"Service": "ecs-tasks.amazonaws.com"}),
    "a resource policy that denies sessions without the tag": resource_policy(
        "Deny", "*", {"Null": {"aws:PrincipalTag/tenant": "true"}}
    ),
    "a resource policy that allows a role": resource_policy(),
}
