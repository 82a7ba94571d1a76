"""service-base: what the service runs as; it becomes tenants, the control plane and the warden, and touches no item."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy
from keyfence_iam.policies import assumption, trust
from keyfence_iam.policies.fence import refused
from keyfence_iam.policies.names import CONTROL_PLANE, TENANT_READ, TENANT_WRITE, WARDEN
from keyfence_iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(
            assumption.tenants(deployment, TENANT_READ, TENANT_WRITE),
            assumption.untagged(deployment, CONTROL_PLANE, WARDEN),
            refused(("dynamodb:*",), "NoDynamoDB"),
        )
    )


SERVICE_BASE = RoleDefinition(identity=identity, trust=trust.by_compute)
