"""Shared statements: leading keys, denials, AssumeRole, trust."""

from collections.abc import Iterable, Mapping

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import (
    ASSUME_ROLE,
    INDEX_READS,
    ITEM_ACTIONS,
    KEYED_ITEM_ACTIONS,
    PARTIQL,
    SCAN,
    STREAM_READS,
    TABLE_COPY_ACTIONS,
    TAG_SESSION,
    VECTOR_SEARCH,
)
from keyfence_iam.tenant import SESSION_TAG, SESSION_TAG_VARIABLE, tenant_key_prefix

INDEXES = ("GSI1", "GSI2", "GSI3")
LEADING_KEYS = "dynamodb:LeadingKeys"
ALL_RESOURCES = ("*",)


def allow_with_leading_keys(tables: tuple[str, ...], prefix: str, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """These calls on partitions that begin with the prefix, of these tables and of their indexes."""
    return (
        Statement(
            effect="Allow",
            sid="ItemsWithKeyPrefix",
            actions=actions,
            resources=tables,
            conditions=leading_keys_condition(prefix),
        ),
        Statement(
            effect="Allow",
            sid="IndexesWithKeyPrefix",
            actions=INDEX_READS,
            resources=indexes_of(*tables),
            conditions=leading_keys_condition(prefix),
        ),
        DENY_WITHOUT_LEADING_KEYS,
    )


def indexes_of(*tables: str) -> tuple[str, ...]:
    return tuple(f"{table}/index/{index}" for table in tables for index in INDEXES)


def leading_keys_condition(prefix: str) -> tuple[Condition, ...]:
    """ForAllValues holds for calls without leading keys too: the Null line is what keeps those out."""
    return (
        Condition("ForAllValues:StringLike", LEADING_KEYS, (f"{prefix}*",)),
        Condition("Null", LEADING_KEYS, ("false",)),
    )


def deny(actions: Iterable[str], sid: str) -> Statement:
    return Statement(effect="Deny", sid=sid, actions=tuple(actions), resources=ALL_RESOURCES)


DENY_WITHOUT_LEADING_KEYS = Statement(
    effect="Deny",
    sid="DenyItemsWithoutLeadingKeys",
    actions=KEYED_ITEM_ACTIONS,
    resources=ALL_RESOURCES,
    conditions=(Condition("Null", LEADING_KEYS, ("true",)),),
)
DENY_TABLE_WIDE = deny((*PARTIQL, VECTOR_SEARCH, *STREAM_READS, *TABLE_COPY_ACTIONS), "DenyTableWideAccess")
DENY_SCAN = deny((SCAN,), "DenyScan")
DENY_ITEMS = deny(ITEM_ACTIONS, "DenyItems")


ONLY_TENANT_TAG = (
    Condition("StringLike", f"aws:RequestTag/{SESSION_TAG}", ("?*",)),
    Condition("ForAllValues:StringEquals", "aws:TagKeys", (SESSION_TAG,)),
    Condition("Null", "aws:TagKeys", ("false",)),
    Condition("Null", "sts:TransitiveTagKeys", ("true",)),
)
"""One tag, with a value, which the session does not hand on."""

NO_TAGS = (Condition("Null", "aws:TagKeys", ("true",)),)


def allow_tenant_items(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """One condition for both tables. Which of them a session may use now its session policy says."""
    tables = (deployment.table_arn, deployment.silo_arn(SESSION_TAG_VARIABLE))
    return allow_with_leading_keys(tables, tenant_key_prefix(SESSION_TAG_VARIABLE), actions)


def allow_assume_as_tenant(deployment: Deployment, *roles: str) -> Statement:
    """These roles for one tenant at a time, named by the session's only tag."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleForOneTenant",
        actions=(ASSUME_ROLE, TAG_SESSION),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=ONLY_TENANT_TAG,
    )


def allow_assume_untagged(deployment: Deployment, *roles: str) -> Statement:
    """These roles, which belong to no tenant."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleWithoutTenant",
        actions=(ASSUME_ROLE,),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=NO_TAGS,
    )


def trust_with_tenant_tag(deployment: Deployment, *roles: str) -> Policy:
    """By these roles, for one tenant that the session is tagged with."""
    return _trust("TrustForOneTenant", _roles(deployment, *roles), (ASSUME_ROLE, TAG_SESSION), ONLY_TENANT_TAG)


def trust_untagged(deployment: Deployment, *roles: str) -> Policy:
    """By these roles, for no tenant."""
    return _trust("TrustWithoutTenant", _roles(deployment, *roles), (ASSUME_ROLE,), NO_TAGS)


def trust_compute(deployment: Deployment) -> Policy:
    return _trust("TrustCompute", {"Service": deployment.compute}, (ASSUME_ROLE,))


def trust_account(deployment: Deployment) -> Policy:
    """By whomever the account's own policies let."""
    root = f"arn:{deployment.partition}:iam::{deployment.account}:root"
    return _trust("TrustAccount", {"AWS": (root,)}, (ASSUME_ROLE,), NO_TAGS)


def _trust(
    sid: str,
    principals: Mapping[str, tuple[str, ...]],
    actions: tuple[str, ...],
    conditions: tuple[Condition, ...] = (),
) -> Policy:
    statement = Statement(effect="Allow", sid=sid, principals=principals, actions=actions, conditions=conditions)
    return Policy(statements=(statement,))


def _roles(deployment: Deployment, *roles: str) -> Mapping[str, tuple[str, ...]]:
    return {"AWS": tuple(deployment.role_arn(role) for role in roles)}
