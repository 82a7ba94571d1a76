"""Policies with one weakness each, by the name of the rule that finds it, and policies without any."""

from typing import Any

Json = dict[str, Any]

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/app"
ROLE = "arn:aws:iam::123456789012:role/api"
SESSION = "arn:aws:sts::123456789012:assumed-role/api/acme"
KEYS = "dynamodb:LeadingKeys"
OWN = "TENANT#${aws:PrincipalTag/tenant}#*"
GUARD = {"Null": {KEYS: "false"}}
REVOKED_AT = "2026-01-01T00:00:00Z"


def policy(*statements: Json, version: str = "2012-10-17") -> Json:
    return {"Version": version, "Statement": list(statements)}


def statement(effect: str, actions: object, condition: Json | None = None, resource: object = TABLE) -> Json:
    made = {"Effect": effect, "Action": actions, "Resource": resource}
    return made | ({"Condition": condition} if condition else {})


def fenced(value: object = OWN, operator: str = "ForAllValues:StringLike", **guard: Json) -> Json:
    """A read with this condition on its leading keys and, unless given, a Null guard."""
    return policy(statement("Allow", "dynamodb:GetItem", {operator: {KEYS: value}} | (guard or GUARD)))


def granting(*actions: str) -> Json:
    return policy(statement("Allow", list(actions), {"ForAllValues:StringLike": {KEYS: OWN}} | GUARD))


def attributed(action: str, condition: Json | None = None) -> Json:
    listed = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["PK", "name"]}}
    guards = {"Null": {KEYS: "false", "dynamodb:Attributes": "false"}, "ForAllValues:StringLike": {KEYS: OWN}}
    both = {"ForAllValues:StringEquals": listed["ForAllValues:StringEquals"], **guards}
    return policy(statement("Allow", action, both | (condition or {})))


TAGGED: Json = {
    "StringLike": {"aws:RequestTag/tenant": "?*"},
    "ForAllValues:StringEquals": {"aws:TagKeys": "tenant"},
    "Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": "true"},
}
BOTH = ["sts:AssumeRole", "sts:TagSession"]


def trust(actions: object = BOTH, principal: object = None, **condition: Any) -> Json:
    wanted = {name.replace("__", ":"): value for name, value in condition.items()}
    made = {"Effect": "Allow", "Principal": principal or {"AWS": ROLE}, "Action": actions}
    return policy(made | ({"Condition": wanted} if wanted else {}))


def trusting(**changed: Any) -> Json:
    """The trust policy of a tenant role, with these parts of its condition replaced, or removed if None."""
    condition = TAGGED | {name.replace("__", ":"): value for name, value in changed.items()}
    return trust(**{name.replace(":", "__"): value for name, value in condition.items() if value is not None})


def on_a_table(effect: str = "Allow", principal: object = None, condition: Json | None = None) -> Json:
    return policy(statement(effect, "dynamodb:DescribeTable", condition) | {"Principal": principal or {"AWS": ROLE}})


WEAKNESSES: dict[str, tuple[str, Json]] = {
    "missing-null-guard": (
        "H1",
        policy(statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {KEYS: OWN}})),
    ),
    "if-exists-in-allow": ("H1", fenced(operator="ForAllValues:StringLikeIfExists")),
    "wildcard-action": ("H1", granting("dynamodb:Get*")),
    "not-action-in-allow": (
        "H1",
        policy({"Effect": "Allow", "NotAction": "dynamodb:DeleteTable", "Resource": TABLE}),
    ),
    "scan-granted": ("H1", granting("dynamodb:GetItem", "dynamodb:Scan")),
    "partiql-granted": (
        "H1",
        policy(statement("Allow", "dynamodb:PartiQLSelect", {"ForAllValues:StringLike": {KEYS: OWN}})),
    ),
    "blank-in-condition-key": (
        "H2",
        policy(statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {"dynamodb: LeadingKeys": OWN}})),
    ),
    "unknown-condition-key": (
        "H2",
        policy(statement("Allow", "dynamodb:GetItem", {"ForAllValues:StringLike": {"dynamodb:LeadingKey": OWN}})),
    ),
    "set-operator-on-single-value": (
        "H2",
        policy(
            statement("Allow", "sts:AssumeRole", {"ForAllValues:StringEquals": {"aws:PrincipalTag/tenant": "a1"}}, ROLE)
        ),
    ),
    "unknown-variable": ("H2", fenced("TENANT#${aws:PrincpalTag/tenant}#*")),
    "no-closing-delimiter": ("H4", fenced("TENANT#acme*")),
    "invalid-tenant-id": ("H5", fenced("TENANT#ac*me#*")),
    "for-any-value": ("H6", fenced(operator="ForAnyValue:StringLike")),
    "for-all-values-in-deny": (
        "H6",
        policy(statement("Deny", "dynamodb:GetItem", {"ForAllValues:StringLike": {KEYS: "CONTROL#*"}})),
    ),
    "set-operator-missing": ("H7", fenced("TENANT#acme", operator="StringEquals")),
    "literal-wildcard": ("H7", fenced(operator="ForAllValues:StringEquals")),
    "negated-operator-in-allow": ("H8", fenced("CONTROL#*", operator="ForAllValues:StringNotLike")),
    "variable-with-default": ("H8", fenced("TENANT#${aws:PrincipalTag/tenant, 'acme'}#*")),
    "deny-skipped-without-tag": (
        "H8",
        policy(statement("Deny", "dynamodb:GetItem", {"ForAnyValue:StringLike": {KEYS: OWN}})),
    ),
    "tag-not-required": ("H8", trust()),
    "tag-session-missing": ("H8", trust("sts:AssumeRole", StringLike={"aws:RequestTag/tenant": "?*"})),
    "other-tags-accepted": ("H8", trusting(ForAllValues__StringEquals=None)),
    "empty-tag-accepted": ("H9", trusting(StringLike={"aws:RequestTag/tenant": "*"})),
    "empty-tag-opens-all": ("H9", fenced("TENANT#${aws:PrincipalTag/tenant}*")),
    "transitive-tags": ("H10", trusting(Null={"aws:TagKeys": "false"})),
    "role-tagging-granted": ("H10", policy(statement("Allow", "iam:TagRole", resource=ROLE))),
    "tag-key-spelling": ("H11", fenced("TENANT#${aws:PrincipalTag/Tenant}#*")),
    "case-ignored": ("H11", fenced("TENANT#acme", operator="ForAllValues:StringEqualsIgnoreCase")),
    "tenant-not-leading": ("H12", fenced("ORDER#${aws:PrincipalTag/tenant}#*")),
    "shared-partition": ("H13", fenced([OWN, "ORDERS"])),
    "unfenced-data-call": ("H14", policy(statement("Allow", ["dynamodb:ConditionCheckItem"]))),
    "fence-on-another-variable": ("H8", fenced("TENANT#${aws:userid}#*")),
    "table-administration": ("H19", policy(statement("Allow", "dynamodb:DeleteTable"))),
    "empty-list": (
        "invalid",
        policy(statement("Deny", "dynamodb:Scan", {"StringEquals": {"aws:PrincipalTag/tenant": []}})),
    ),
    "return-values-open": ("H15", attributed("dynamodb:UpdateItem")),
    "projection-not-required": ("H16", attributed("dynamodb:Query")),
    "whole-item-replaced": ("H17", attributed("dynamodb:PutItem", {"StringEquals": {"dynamodb:ReturnValues": "NONE"}})),
    "table-wide-call": (
        "H19",
        policy(statement("Allow", ["dynamodb:GetRecords", "dynamodb:ExportTableToPointInTime"])),
    ),
    "any-principal-trusted": ("H22", on_a_table(principal="*")),
    "not-principal-in-allow": (
        "H22",
        policy(statement("Allow", "dynamodb:DescribeTable") | {"NotPrincipal": {"AWS": ROLE}}),
    ),
    "session-named": ("H22", on_a_table(principal={"AWS": SESSION})),
    "conditional-allow": ("H23", on_a_table(condition={"StringEquals": {"aws:PrincipalAccount": "123456789012"}})),
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
    "non-ascii-character": ("H30", fenced("TENANT#\u0430cme#*")),
    "dax-granted": (
        "H31",
        policy(statement("Allow", "dax:GetItem", resource="arn:aws:dax:us-east-1:123456789012:cache/c")),
    ),
    "vector-search-granted": ("H32", granting("dynamodb:SearchVectors")),
    "not-a-policy": ("invalid", {"Statement": [{"Effect": "Allow", "Action": "dynamodb:GetItem"}]}),
}

GOOD: dict[str, Json] = {
    "a fence": fenced(),
    "a fence of one literal tenant": fenced("TENANT#acme#*"),
    "a fence that matches one whole key": fenced("TENANT#${aws:PrincipalTag/tenant}", "ForAllValues:StringEquals"),
    "a fence under the key's other name": policy(
        statement(
            "Allow",
            "dynamodb:GetItem",
            {
                "ForAllValues:StringLike": {"dynamodb:FirstPartitionKeyValues": OWN},
                "Null": {"dynamodb:FirstPartitionKeyValues": "false"},
            },
        )
    ),
    "the control plane's fence": fenced("CONTROL#*"),
    "keys in any capitals": policy(
        statement(
            "Allow",
            "DynamoDB:getitem",
            {"ForAllValues:StringLike": {"DYNAMODB:leadingkeys": OWN}, "Null": {"dynamodb:LEADINGKEYS": "False"}},
        )
    ),
    "an index by name and indexes of one table": policy(
        statement(
            "Allow",
            "dynamodb:Query",
            {"ForAllValues:StringLike": {KEYS: OWN}} | GUARD,
            [f"{TABLE}/index/GSI1", f"{TABLE}/index/*"],
        )
    ),
    "a silo and its index": policy(
        statement(
            "Allow",
            "dynamodb:Query",
            {"ForAllValues:StringLike": {KEYS: OWN}} | GUARD,
            [f"{TABLE}-silo-${{aws:PrincipalTag/tenant}}", f"{TABLE}-silo-${{aws:PrincipalTag/tenant}}/index/GSI1"],
        )
    ),
    "silos of whomever, made and removed by who accepts it": policy(
        statement("Allow", ["dynamodb:CreateTable", "dynamodb:DeleteTable"], None, f"{TABLE}-silo-*")
        | {"Sid": "AcceptH19AcceptH29ManageSilos"}
    ),
    "a refusal of everything by the table": policy(
        statement("Deny", ["dynamodb:Scan", "dynamodb:PartiQL*"], None, "*")
    ),
    "a refusal of calls without keys": policy(statement("Deny", "dynamodb:GetItem", {"Null": {KEYS: "true"}}, "*")),
    "a refusal of a neighbour": policy(
        statement("Deny", "dynamodb:GetItem", {"ForAnyValue:StringLike": {KEYS: "TENANT#globex#*"}})
    ),
    "a suspension": policy(statement("Deny", "*", {"StringEquals": {"aws:PrincipalTag/tenant": ["acme"]}}, "*")),
    "a revocation": policy(statement("Deny", "*", {"DateLessThan": {"aws:TokenIssueTime": REVOKED_AT}}, "*")),
    "attributes that are listed, projected and not returned": attributed(
        "dynamodb:UpdateItem", {"StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]}}
    ),
    "attributes that are read by projection": attributed(
        "dynamodb:Query", {"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    ),
    "an accepted scan": policy(statement("Allow", "dynamodb:Scan") | {"Sid": "AcceptH1ScanForBackfill"}),
    "an accepted stream": policy(
        statement("Allow", "dynamodb:GetRecords", None, f"{TABLE}/stream/*") | {"Sid": "AcceptH19Stream"}
    ),
    "the making of a table by who reads no item": policy(
        statement("Allow", ["dynamodb:CreateTable", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive"])
    ),
    "an accepted end of a table": policy(statement("Allow", "dynamodb:DeleteTable") | {"Sid": "AcceptH19Trial"}),
    "a refusal of administration": policy(
        statement("Deny", ["dynamodb:DeleteTable", "dynamodb:UpdateTable"], None, "*")
    ),
    "a listing": policy(statement("Allow", "dynamodb:ListStreams", None, "*")),
    "another service's keys": policy(
        statement("Allow", "s3:ListBucket", {"StringLike": {"s3:prefix": "a/*"}}, "arn:aws:s3:::bucket")
    ),
    "a trust with the tag": trusting(),
    "a trust that refuses tags": trust("sts:AssumeRole", Null={"aws:TagKeys": "true"}),
    "a trust of a service": trust("sts:AssumeRole", {"Service": "ecs-tasks.amazonaws.com"}),
    "a table that refuses the untagged": on_a_table("Deny", "*", {"Null": {"aws:PrincipalTag/tenant": "true"}}),
    "a table that lets a role in": on_a_table(),
}
