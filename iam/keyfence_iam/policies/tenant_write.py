"""tenant-write: the items of the tenant that the session is tagged with, to read and to change."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy
from keyfence_iam.policies import trust
from keyfence_iam.policies.actions import READS, WRITES
from keyfence_iam.policies.fence import UNFENCEABLE, UNSCANNED
from keyfence_iam.policies.names import SERVICE_BASE, STREAM_WORKER
from keyfence_iam.policies.own import own
from keyfence_iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*own(deployment, (*READS, *WRITES)), UNSCANNED, UNFENCEABLE))


def trusted(deployment: Deployment) -> Policy:
    return trust.as_a_tenant(deployment, SERVICE_BASE, STREAM_WORKER)


TENANT_WRITE = RoleDefinition(identity=identity, trust=trusted, boundary=identity)
