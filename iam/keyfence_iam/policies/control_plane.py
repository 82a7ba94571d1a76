"""control-plane: the register of tenants and what else belongs to none of them."""

from keyfence_iam.boundary import CONTROL
from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy
from keyfence_iam.policies import trust
from keyfence_iam.policies.actions import READS, WRITES
from keyfence_iam.policies.fence import UNFENCEABLE, UNSCANNED, inside
from keyfence_iam.policies.names import MIGRATOR, SERVICE_BASE
from keyfence_iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*inside((deployment.table_arn,), CONTROL, (*READS, *WRITES)), UNSCANNED, UNFENCEABLE))


def trusted(deployment: Deployment) -> Policy:
    return trust.as_nobody(deployment, SERVICE_BASE, MIGRATOR)


CONTROL_PLANE = RoleDefinition(identity=identity, trust=trusted)
