"""warden: refuses tenants by inline policies on the roles that the service becomes them by, and touches no item."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Condition, Policy, Statement
from keyfence_iam.policies import trust
from keyfence_iam.policies.fence import refused
from keyfence_iam.policies.names import MIGRATOR, SERVICE_BASE, TENANT_READ, TENANT_WRITE
from keyfence_iam.policies.role import RoleDefinition

GUARDED = (TENANT_READ, TENANT_WRITE)
"""Not tenant-migration: what is moved or purged is so while its tenant is refused."""

WRITING = ("iam:PutRolePolicy", "iam:DeleteRolePolicy")
READING = ("iam:GetRolePolicy",)


def identity(deployment: Deployment) -> Policy:
    guarding = (_guarding(deployment, role) for role in GUARDED)
    return Policy(statements=(*guarding, _looking(deployment), refused(("dynamodb:*",), "NoDynamoDB")))


def _guarding(deployment: Deployment, role: str) -> Statement:
    """Only while the role has its boundary: within it an inline policy can take away and never give."""
    return Statement(
        effect="Allow",
        sid="Guard" + role.title().replace("-", ""),
        actions=WRITING,
        resources=(deployment.role_arn(role),),
        conditions=(Condition("StringEquals", "iam:PermissionsBoundary", (deployment.boundary_arn(role),)),),
    )


def _looking(deployment: Deployment) -> Statement:
    roles = tuple(deployment.role_arn(role) for role in GUARDED)
    return Statement(effect="Allow", sid="SeeWhoIsRefused", actions=READING, resources=roles)


def trusted(deployment: Deployment) -> Policy:
    return trust.as_nobody(deployment, SERVICE_BASE, MIGRATOR)


WARDEN = RoleDefinition(identity=identity, trust=trusted)
