"""Statements that let a role become another."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Statement
from keyfence_iam.policies.actions import ASSUME, TAG_SESSION
from keyfence_iam.policies.tag import EXACTLY_THE_TENANT, NO_TAGS


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
