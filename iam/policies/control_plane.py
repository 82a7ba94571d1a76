"""control-plane: the register of tenants and what else belongs to none of them."""

from iam.boundary import CONTROL
from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import trust
from iam.policies.actions import READS, WRITES
from iam.policies.fence import UNFENCEABLE, UNSCANNED, inside
from iam.policies.names import MIGRATOR, SERVICE_BASE
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*inside((deployment.table_arn,), CONTROL, (*READS, *WRITES)), UNSCANNED, UNFENCEABLE))


def trusted(deployment: Deployment) -> Policy:
    return trust.as_nobody(deployment, SERVICE_BASE, MIGRATOR)


CONTROL_PLANE = RoleDefinition(identity=identity, trust=trusted)
