"""Shared statements: leading keys, denials, AssumeRole, trust."""

from collections.abc import Iterable, Mapping

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import (
    ASSUME,
    COPIES,
    DATA,
    INDEX_READS,
    KEYED,
    PARTIQL,
    SCAN,
    SEARCH,
    STREAM_READS,
    TAG_SESSION,
)
from keyfence_iam.tenant import TENANT_OF_SESSION, TENANT_TAG, tenant_boundary

INDEXES = ("GSI1", "GSI2", "GSI3")
LEADING_KEYS = "dynamodb:LeadingKeys"
EVERYTHING = ("*",)


def inside(tables: tuple[str, ...], prefix: str, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """These calls on partitions that begin with the prefix, of these tables and of their indexes."""
    return (
        Statement(
            effect="Allow",
            sid="ItemsInsideTheFence",
            actions=actions,
            resources=tables,
            conditions=leading(prefix),
        ),
        Statement(
            effect="Allow",
            sid="IndexesInsideTheFence",
            actions=INDEX_READS,
            resources=indexes_of(*tables),
            conditions=leading(prefix),
        ),
        UNKEYED,
    )


def indexes_of(*tables: str) -> tuple[str, ...]:
    return tuple(f"{table}/index/{index}" for table in tables for index in INDEXES)


def leading(prefix: str) -> tuple[Condition, ...]:
    """ForAllValues holds for calls without leading keys too: the Null line is what keeps those out."""
    return (
        Condition("ForAllValues:StringLike", LEADING_KEYS, (f"{prefix}*",)),
        Condition("Null", LEADING_KEYS, ("false",)),
    )


def refused(actions: Iterable[str], sid: str) -> Statement:
    return Statement(effect="Deny", sid=sid, actions=tuple(actions), resources=EVERYTHING)


UNKEYED = Statement(
    effect="Deny",
    sid="NoItemsWithoutLeadingKeys",
    actions=KEYED,
    resources=EVERYTHING,
    conditions=(Condition("Null", LEADING_KEYS, ("true",)),),
)
UNFENCEABLE = refused((*PARTIQL, SEARCH, *STREAM_READS, *COPIES), "NothingByTheTable")
UNSCANNED = refused((SCAN,), "NoScan")
NO_DATA = refused(DATA, "NoItems")


EXACTLY_THE_TENANT = (
    Condition("StringLike", f"aws:RequestTag/{TENANT_TAG}", ("?*",)),
    Condition("ForAllValues:StringEquals", "aws:TagKeys", (TENANT_TAG,)),
    Condition("Null", "aws:TagKeys", ("false",)),
    Condition("Null", "sts:TransitiveTagKeys", ("true",)),
)
"""One tag, with a value, which the session does not hand on."""

NO_TAGS = (Condition("Null", "aws:TagKeys", ("true",)),)


def own(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """One condition for both tables. Which of them a session may use now its session policy says."""
    tables = (deployment.table_arn, deployment.silo_arn(TENANT_OF_SESSION))
    return inside(tables, tenant_boundary(TENANT_OF_SESSION), actions)


def tenants(deployment: Deployment, *roles: str) -> Statement:
    """These roles for one tenant at a time, named by the session's only tag."""
    return Statement(
        effect="Allow",
        sid="BecomeOneTenant",
        actions=(ASSUME, TAG_SESSION),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=EXACTLY_THE_TENANT,
    )


def untagged(deployment: Deployment, *roles: str) -> Statement:
    """These roles, which belong to no tenant."""
    return Statement(
        effect="Allow",
        sid="BecomeNoTenant",
        actions=(ASSUME,),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=NO_TAGS,
    )


def as_a_tenant(deployment: Deployment, *roles: str) -> Policy:
    """By these roles, for one tenant that the session is tagged with."""
    return _trust("OneTenant", _roles(deployment, *roles), (ASSUME, TAG_SESSION), EXACTLY_THE_TENANT)


def as_nobody(deployment: Deployment, *roles: str) -> Policy:
    """By these roles, for no tenant."""
    return _trust("NoTenant", _roles(deployment, *roles), (ASSUME,), NO_TAGS)


def by_compute(deployment: Deployment) -> Policy:
    return _trust("Compute", {"Service": deployment.compute}, (ASSUME,))


def by_the_account(deployment: Deployment) -> Policy:
    """By whomever the account's own policies let."""
    root = f"arn:{deployment.partition}:iam::{deployment.account}:root"
    return _trust("Account", {"AWS": (root,)}, (ASSUME,), NO_TAGS)


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
