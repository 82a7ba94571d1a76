"""service-base: what the service runs as; it becomes tenants, the control plane and the warden, and touches no item."""

from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import assumption, trust
from iam.policies.fence import refused
from iam.policies.names import CONTROL_PLANE, TENANT_READ, TENANT_WRITE, WARDEN
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            assumption.tenants(deployment, TENANT_READ, TENANT_WRITE),
            assumption.untagged(deployment, CONTROL_PLANE, WARDEN),
            refused(("dynamodb:*",), "NoDynamoDB"),
        )
    )


SERVICE_BASE = RoleDefinition(identity=identity, trust=trust.by_compute)
