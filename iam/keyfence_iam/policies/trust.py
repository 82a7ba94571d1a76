"""Trust policies: who may become a role, and with which session tag."""

from collections.abc import Mapping

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Condition, Policy, Statement
from keyfence_iam.policies.actions import ASSUME, TAG_SESSION
from keyfence_iam.policies.tag import EXACTLY_THE_TENANT, NO_TAGS


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
