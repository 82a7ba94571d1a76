"""The policy statements that several roles share: access by leading keys, Deny statements, AssumeRole and trust."""

from collections.abc import Iterable, Mapping

from keyfence_iam import arns
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Condition, Policy, Statement
from keyfence_iam.policy.actions import (
    ASSUME_ROLE,
    INDEX_READ_ACTIONS,
    ITEM_ACTIONS,
    KEYED_ITEM_ACTIONS,
    LEADING_KEYS,
    PARTIQL_ACTIONS,
    SCAN,
    STREAM_READ_ACTIONS,
    TABLE_COPY_ACTIONS,
    TAG_SESSION,
    VECTOR_SEARCH,
)
from keyfence_iam.tenant import SESSION_TAG, SESSION_TAG_VARIABLE, tenant_key_prefix

ALL_RESOURCES = ("*",)


def deny(actions: Iterable[str], sid: str) -> Statement:
    """Returns a statement that denies the actions on all resources."""
    return Statement(effect="Deny", sid=sid, actions=tuple(actions), resources=ALL_RESOURCES)


DENY_WITHOUT_LEADING_KEYS = Statement(
    effect="Deny",
    sid="DenyItemsWithoutLeadingKeys",
    actions=KEYED_ITEM_ACTIONS,
    resources=ALL_RESOURCES,
    conditions=(Condition("Null", LEADING_KEYS, ("true",)),),
)
"""Denies the actions on items if the call names no partition key. Such a call has no leading keys."""
DENY_TABLE_WIDE = deny(
    (*PARTIQL_ACTIONS, VECTOR_SEARCH, *STREAM_READ_ACTIONS, *TABLE_COPY_ACTIONS), "DenyTableWideAccess"
)
"""Denies PartiQL, and the actions that leading keys cannot limit: vector search, streams, and copies of tables."""
DENY_SCAN = deny((SCAN,), "DenyScan")
DENY_ITEMS = deny(ITEM_ACTIONS, "DenyItems")

ONLY_TENANT_TAG = (
    Condition("StringLike", f"aws:RequestTag/{SESSION_TAG}", ("?*",)),
    Condition("ForAllValues:StringEquals", "aws:TagKeys", (SESSION_TAG,)),
    Condition("Null", "aws:TagKeys", ("false",)),
    Condition("Null", "sts:TransitiveTagKeys", ("true",)),
)
"""Conditions of AssumeRole: the new session has exactly one tag, which names its tenant and is not empty.

The tag is not transitive: a session that is assumed from the new session does not inherit it.
"""

NO_SESSION_TAGS = (Condition("Null", "aws:TagKeys", ("true",)),)


def allow_with_leading_keys(
    deployment: Deployment, table_arns: tuple[str, ...], key_prefix: str, actions: tuple[str, ...]
) -> tuple[Statement, ...]:
    """Allows actions on partition keys that begin with `key_prefix`.

    `actions` are allowed in the tables, and INDEX_READ_ACTIONS in their indexes. A third statement denies calls without
    leading keys.
    """
    return (
        Statement(
            effect="Allow",
            sid="ItemsWithKeyPrefix",
            actions=actions,
            resources=table_arns,
            conditions=leading_keys_conditions(key_prefix),
        ),
        Statement(
            effect="Allow",
            sid="IndexesWithKeyPrefix",
            actions=INDEX_READ_ACTIONS,
            resources=index_arns(deployment, *table_arns),
            conditions=leading_keys_conditions(key_prefix),
        ),
        DENY_WITHOUT_LEADING_KEYS,
    )


def index_arns(deployment: Deployment, *table_arns: str) -> tuple[str, ...]:
    """Returns the ARNs of all indexes of the tables."""
    return tuple(arns.index_arn(table_arn, index) for table_arn in table_arns for index in deployment.indexes)


def leading_keys_conditions(key_prefix: str) -> tuple[Condition, ...]:
    """Returns the conditions that all leading keys begin with `key_prefix`.

    ForAllValues is also true for a call without leading keys. The Null condition excludes such calls.
    """
    return (
        Condition("ForAllValues:StringLike", LEADING_KEYS, (f"{key_prefix}*",)),
        Condition("Null", LEADING_KEYS, ("false",)),
    )


def allow_tenant_items(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """Allows the actions on the tenant's items in the shared table and in the tenant's silo.

    A session policy can limit a session to one of the two tables.
    """
    table_arns = (deployment.table_arn, deployment.silo_arn(SESSION_TAG_VARIABLE))
    return allow_with_leading_keys(deployment, table_arns, tenant_key_prefix(SESSION_TAG_VARIABLE), actions)


def allow_assume_as_tenant(deployment: Deployment, *roles: str) -> Statement:
    """Allows AssumeRole of the roles for one tenant. The only tag of the session names the tenant."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleForOneTenant",
        actions=(ASSUME_ROLE, TAG_SESSION),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=ONLY_TENANT_TAG,
    )


def allow_assume_untagged(deployment: Deployment, *roles: str) -> Statement:
    """Allows AssumeRole of the roles without a session tag, and therefore without a tenant."""
    return Statement(
        effect="Allow",
        sid="AssumeRoleWithoutTenant",
        actions=(ASSUME_ROLE,),
        resources=tuple(deployment.role_arn(role) for role in roles),
        conditions=NO_SESSION_TAGS,
    )


def trust_with_tenant_tag(deployment: Deployment, *roles: str) -> Policy:
    """Returns a trust policy: the roles may assume this role for one tenant. The only session tag names the tenant."""
    return _trust_policy(
        "TrustForOneTenant", _role_principals(deployment, *roles), (ASSUME_ROLE, TAG_SESSION), ONLY_TENANT_TAG
    )


def trust_untagged(deployment: Deployment, *roles: str) -> Policy:
    """Returns a trust policy: the roles may assume this role without a session tag."""
    return _trust_policy("TrustWithoutTenant", _role_principals(deployment, *roles), (ASSUME_ROLE,), NO_SESSION_TAGS)


def trust_compute_services(deployment: Deployment) -> Policy:
    """Returns a trust policy: the compute services of the deployment may run processes as this role."""
    return _trust_policy("TrustCompute", {"Service": deployment.compute_services}, (ASSUME_ROLE,))


def trust_account(deployment: Deployment) -> Policy:
    """Returns a trust policy: each principal of the account may assume this role without a session tag.

    The policies of the principal must allow it too.
    """
    root = arns.account_root_arn(account=deployment.account, partition=deployment.partition)
    return _trust_policy("TrustAccount", {"AWS": (root,)}, (ASSUME_ROLE,), NO_SESSION_TAGS)


def _trust_policy(
    sid: str,
    principals: Mapping[str, tuple[str, ...]],
    actions: tuple[str, ...],
    conditions: tuple[Condition, ...] = (),
) -> Policy:
    statement = Statement(effect="Allow", sid=sid, principals=principals, actions=actions, conditions=conditions)
    return Policy(statements=(statement,))


def _role_principals(deployment: Deployment, *roles: str) -> Mapping[str, tuple[str, ...]]:
    return {"AWS": tuple(deployment.role_arn(role) for role in roles)}
