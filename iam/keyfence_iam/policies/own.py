"""What is the tenant's own: its partitions of the pool, and the same partitions of its silo."""

from keyfence_iam.boundary import tenant_boundary
from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Statement
from keyfence_iam.policies.fence import inside
from keyfence_iam.policies.tag import TENANT_OF_SESSION


def own(deployment: Deployment, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """One condition for both tables. Which of them a session may use now its session policy says."""
    tables = (deployment.table_arn, deployment.silo_arn(TENANT_OF_SESSION))
    return inside(tables, tenant_boundary(TENANT_OF_SESSION), actions)
