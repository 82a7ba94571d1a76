"""The policies of all roles are valid, small enough and limited to the resources of the deployment."""

import re

import pytest

from keyfence.store.dynamodb.table_definition import table_definition
from keyfence_iam.deployment import Deployment
from keyfence_iam.lint import lint
from keyfence_iam.policy import Policy, Statement, parse_policy
from keyfence_iam.policy.actions import ITEM_ACTIONS, KEYED_ITEM_ACTIONS, TABLE_ADMIN_ACTIONS, TABLE_SETUP_ACTIONS
from keyfence_iam.policy.role import MAX_INLINE_SIZE, MAX_MANAGED_SIZE, MAX_TRUST_SIZE, policy_size
from keyfence_iam.roles import ROLES

LOCAL = Deployment()
LONGEST = Deployment(
    account="123456789012",
    region="ap-southeast-99",
    table="t" * 255,
    role_prefix="p" * 48,
    partition="aws-us-gov",
    compute_services=("ecs-tasks.amazonaws.com", "lambda.amazonaws.com", "ec2.amazonaws.com"),
)
IDENTITY_POLICIES = {name: role.identity for name, role in ROLES.items()}

each_role = pytest.mark.parametrize("role", ROLES)


def allow_statements(policy: Policy) -> list[Statement]:
    return [statement for statement in policy.statements if statement.effect == "Allow"]


@each_role
@pytest.mark.parametrize("deployment", [LOCAL, LONGEST], ids=["local", "longest"])
def test_the_identity_and_trust_policies_are_valid(role: str, deployment: Deployment) -> None:
    parse_policy(ROLES[role].identity(deployment).as_json())
    parse_policy(ROLES[role].trust(deployment).as_json(), kind="trust")


@each_role
@pytest.mark.parametrize("deployment", [LOCAL, LONGEST], ids=["local", "longest"])
def test_the_linter_finds_nothing_in_the_identity_and_trust_policies(role: str, deployment: Deployment) -> None:
    assert lint(ROLES[role].identity(deployment)) == []
    assert lint(ROLES[role].trust(deployment)) == []


@each_role
def test_the_identity_and_trust_policies_fit_into_the_size_limits_of_iam(role: str) -> None:
    assert policy_size(ROLES[role].identity(LONGEST)) <= MAX_INLINE_SIZE
    assert policy_size(ROLES[role].trust(LONGEST)) <= MAX_TRUST_SIZE


def test_the_boundary_of_each_tenant_role_is_its_identity_policy() -> None:
    boundaries = {name: role.boundary for name, role in ROLES.items() if role.boundary}
    assert set(boundaries) == {role for role in ROLES if role.startswith("tenant-")}
    for role, boundary in boundaries.items():
        assert boundary(LONGEST) == ROLES[role].identity(LONGEST)
        assert policy_size(boundary(LONGEST)) <= MAX_MANAGED_SIZE


def test_the_suspender_may_write_policies_of_the_two_tenant_roles_only() -> None:
    policy = ROLES["suspender"].identity(LOCAL)
    granted = {
        (action, resource)
        for statement in allow_statements(policy)
        for action in statement.actions
        for resource in statement.resources
    }
    actions = ("iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:GetRolePolicy")
    roles = (LOCAL.role_arn("tenant-read"), LOCAL.role_arn("tenant-write"))
    assert granted == {(action, role) for action in actions for role in roles}


def test_the_suspender_may_write_a_policy_only_while_the_role_has_its_own_boundary() -> None:
    write_statements = [
        statement
        for statement in allow_statements(ROLES["suspender"].identity(LOCAL))
        if "iam:PutRolePolicy" in statement.actions
    ]
    assert [
        (statement.resources, [(condition.key, condition.values) for condition in statement.conditions])
        for statement in write_statements
    ] == [
        ((LOCAL.role_arn(role),), [("iam:PermissionsBoundary", (LOCAL.boundary_arn(role),))])
        for role in ("tenant-read", "tenant-write")
    ]


@each_role
def test_sessions_last_no_longer_than_role_chaining_allows(role: str) -> None:
    assert 900 <= ROLES[role].max_session_seconds <= 3600


@each_role
def test_allowed_actions_have_no_wildcards(role: str) -> None:
    for statement in allow_statements(ROLES[role].identity(LOCAL)):
        assert statement.actions
        assert not [action for action in statement.actions if set("*?") & set(action)]


@each_role
def test_only_the_tables_and_roles_of_the_deployment_are_allowed(role: str) -> None:
    other_deployment = Deployment(account="999999999999", region="eu-west-1", table="other", role_prefix="x-")
    for statement in allow_statements(ROLES[role].identity(other_deployment)):
        if statement.actions != ("dynamodb:ListStreams",):
            own_resources = r"table/other(-silo-(\$\{aws:PrincipalTag/tenant\}|\*))?(/|$)|role/x-"
            assert all(re.search(own_resources, resource) for resource in statement.resources)


def test_only_the_migrator_and_the_stream_worker_accept_findings_of_the_linter() -> None:
    accepted_findings = {
        (role, tuple(re.findall(r"Accept(H\d+)", statement.sid or "")), statement.actions, statement.resources)
        for role, identity in IDENTITY_POLICIES.items()
        for statement in identity(LOCAL).statements
        if "Accept" in (statement.sid or "")
    }
    streams = ("dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords")
    pool = (LOCAL.table_arn, *(LOCAL.index_arn(index) for index in LOCAL.indexes))
    silos = (f"{LOCAL.table_arn}-silo-*",)
    assert accepted_findings == {
        ("migrator", ("H1",), ("dynamodb:Scan",), pool),
        ("migrator", ("H1", "H29"), ("dynamodb:Scan",), silos),
        ("migrator", ("H19", "H29"), (*TABLE_SETUP_ACTIONS, "dynamodb:DeleteTable"), silos),
        ("stream-worker", ("H19",), streams, (f"{LOCAL.table_arn}/stream/*",)),
    }


@pytest.mark.parametrize("role", ["service-base", "stream-worker", "provisioner", "suspender"])
def test_a_role_that_needs_no_items_denies_all_item_actions(role: str) -> None:
    policy = ROLES[role].identity(LOCAL)
    assert not {action for statement in allow_statements(policy) for action in statement.actions} & set(ITEM_ACTIONS)
    (deny,) = (statement for statement in policy.statements if statement.effect == "Deny")
    assert deny.resources == ("*",)
    assert not deny.conditions
    assert deny.actions == ("dynamodb:*",) or set(deny.actions) >= set(ITEM_ACTIONS)


SILO = f"{LOCAL.table_arn}-silo-${{aws:PrincipalTag/tenant}}"


@pytest.mark.parametrize(
    ("role", "tables"),
    [
        ("tenant-read", (LOCAL.table_arn, SILO)),
        ("tenant-write", (LOCAL.table_arn, SILO)),
        ("tenant-migration", (LOCAL.table_arn, SILO)),
        ("control-plane", (LOCAL.table_arn,)),
        ("migrator", (LOCAL.table_arn,)),
    ],
)
def test_item_actions_are_allowed_on_tables_and_only_queries_on_indexes(role: str, tables: tuple[str, ...]) -> None:
    keyed = [
        statement
        for statement in allow_statements(ROLES[role].identity(LOCAL))
        if set(statement.actions) & set(KEYED_ITEM_ACTIONS)
    ]
    assert [statement.resources for statement in keyed] == [
        tables,
        tuple(f"{table}/index/{index}" for table in tables for index in LOCAL.indexes),
    ]
    assert keyed[1].actions == ("dynamodb:Query",)


def test_the_migrator_may_change_and_delete_silos_and_never_the_pool() -> None:
    statements = ROLES["migrator"].identity(LOCAL).statements
    granted = {
        resource
        for statement in statements
        if statement.effect == "Allow" and set(statement.actions) & {*TABLE_ADMIN_ACTIONS, *TABLE_SETUP_ACTIONS}
        for resource in statement.resources
    }
    denials = [
        statement
        for statement in statements
        if statement.effect == "Deny" and statement.resources == (LOCAL.table_arn,)
    ]
    assert granted == {f"{LOCAL.table_arn}-silo-*"}
    assert [(statement.actions, statement.conditions) for statement in denials] == [(TABLE_ADMIN_ACTIONS, ())]


def test_the_indexes_of_the_policies_are_those_of_the_table() -> None:
    assert [index["IndexName"] for index in table_definition("t", {})["GlobalSecondaryIndexes"]] == [*LOCAL.indexes]


def test_each_role_trusts_only_the_roles_that_need_it() -> None:
    def trusted(role: str) -> set[str]:
        (statement,) = ROLES[role].trust(LOCAL).statements
        return {arn.removeprefix(LOCAL.role_arn("")) for arn in (statement.principals or {}).get("AWS", ())}

    assert trusted("tenant-read") == {"service-base"}
    assert trusted("tenant-write") == {"service-base", "stream-worker"}
    assert trusted("tenant-migration") == {"migrator"}
    assert trusted("control-plane") == trusted("suspender") == {"service-base", "migrator"}


def test_assume_role_permissions_and_trust_policies_match() -> None:
    """A role that may assume another must also be trusted by it. One without the other is a mistake."""
    permissions = {
        (role, arn.removeprefix(LOCAL.role_arn("")))
        for role, identity in IDENTITY_POLICIES.items()
        for statement in allow_statements(identity(LOCAL))
        if "sts:AssumeRole" in statement.actions
        for arn in statement.resources
    }
    trusted_roles = {
        (arn.removeprefix(LOCAL.role_arn("")), role)
        for role, definition in ROLES.items()
        for statement in definition.trust(LOCAL).statements
        for arn in (statement.principals or {}).get("AWS", ())
        if ":role/" in arn
    }
    assert permissions == trusted_roles
