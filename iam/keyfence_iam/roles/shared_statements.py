"""Statements that several roles share: leading keys, denials, AssumeRole and trust."""

from collections.abc import Iterable, Mapping

from keyfence_iam import arns
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import (
    ASSUME_ROLE,
    INDEX_READS,
    ITEM_ACTIONS,
    KEYED_ITEM_ACTIONS,
    LEADING_KEYS,
    PARTIQL,
    SCAN,
    STREAM_READS,
    TABLE_COPY_ACTIONS,
    TAG_SESSION,
    VECTOR_SEARCH,
)
from keyfence_iam.tenant import SESSION_TAG, SESSION_TAG_VARIABLE, tenant_key_prefix

ALL_RESOURCES = ("*",)


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
"""Exactly one tag, which has a value and is not transitive: sessions assumed from this one do not inherit it."""

NO_TAGS = (Condition("Null", "aws:TagKeys", ("true",)),)


def allow_with_leading_keys(
    deployment: Deployment, tables: tuple[str, ...], prefix: str, actions: tuple[str, ...]
) -> tuple[Statement, ...]:
    """Allows these actions on partitions whose keys begin with the prefix, in these tables and in their indexes."""
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
            resources=index_arns(deployment, *tables),
            conditions=leading_keys_condition(prefix),
        ),
        DENY_WITHOUT_LEADING_KEYS,
    )


def index_arns(deployment: Deployment, *tables: str) -> tuple[str, ...]:
    return tuple(arns.index_arn(table, index) for table in tables for index in deployment.indexes)


def leading_keys_condition(prefix: str) -> tuple[Condition, ...]:
    """ForAllValues is also true for calls without leading keys. The Null condition excludes those."""
    return (
        Condition("ForAllValues:StringLike", LEADING_KEYS, (f"{prefix}*",)),
        Condition("Null", LEADING_KEYS, ("false",)),
    )


def allow_tenant_items(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """Allows the actions in the shared table and in the tenant's own. The session policy says which of them is used."""
    tables = (deployment.table_arn, deployment.silo_arn(SESSION_TAG_VARIABLE))
    return allow_with_leading_keys(deployment, tables, tenant_key_prefix(SESSION_TAG_VARIABLE), actions)


def allow_assume_as_tenant(deployment: Deployment, *roles: str) -> Statement:
    """Allows to assume these roles for one tenant, which the session's only tag names."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleForOneTenant",
        actions=(ASSUME_ROLE, TAG_SESSION),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=ONLY_TENANT_TAG,
    )


def allow_assume_untagged(deployment: Deployment, *roles: str) -> Statement:
    """Allows to assume these roles, which belong to no tenant, without any tag."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleWithoutTenant",
        actions=(ASSUME_ROLE,),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=NO_TAGS,
    )


def trust_with_tenant_tag(deployment: Deployment, *roles: str) -> Policy:
    """Lets these roles assume the role for one tenant, which the session's only tag names."""
    return _trust(
        "TrustForOneTenant", _role_principals(deployment, *roles), (ASSUME_ROLE, TAG_SESSION), ONLY_TENANT_TAG
    )


def trust_untagged(deployment: Deployment, *roles: str) -> Policy:
    """Lets these roles assume the role without any tag."""
    return _trust("TrustWithoutTenant", _role_principals(deployment, *roles), (ASSUME_ROLE,), NO_TAGS)


def trust_compute(deployment: Deployment) -> Policy:
    """Lets the deployment's compute services run a process as the role."""
    return _trust("TrustCompute", {"Service": deployment.compute}, (ASSUME_ROLE,))


def trust_account(deployment: Deployment) -> Policy:
    """Lets every principal of the account assume the role whose own policies allow it."""
    root = arns.account_root_arn(account=deployment.account, partition=deployment.partition)
    return _trust("TrustAccount", {"AWS": (root,)}, (ASSUME_ROLE,), NO_TAGS)


def _trust(
    sid: str,
    principals: Mapping[str, tuple[str, ...]],
    actions: tuple[str, ...],
    conditions: tuple[Condition, ...] = (),
) -> Policy:
    statement = Statement(effect="Allow", sid=sid, principals=principals, actions=actions, conditions=conditions)
    return Policy(statements=(statement,))


def _role_principals(deployment: Deployment, *roles: str) -> Mapping[str, tuple[str, ...]]:
    return {"AWS": tuple(deployment.role_arn(role) for role in roles)}
