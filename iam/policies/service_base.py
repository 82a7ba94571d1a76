"""service-base: what the service runs as; it becomes tenants and the control plane, and touches no item itself."""

from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import assumption, trust
from iam.policies.fence import refused
from iam.policies.names import CONTROL_PLANE, TENANT_READ, TENANT_WRITE
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            assumption.tenants(deployment, TENANT_READ, TENANT_WRITE),
            assumption.untagged(deployment, CONTROL_PLANE),
            refused(("dynamodb:*",), "NoDynamoDB"),
        )
    )


SERVICE_BASE = RoleDefinition(identity=identity, trust=trust.by_compute)
