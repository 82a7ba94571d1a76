"""tenant-read: the items of the tenant that the session is tagged with, to read."""

from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import trust
from iam.policies.actions import READS
from iam.policies.fence import UNFENCEABLE, UNSCANNED
from iam.policies.names import SERVICE_BASE
from iam.policies.own import own
from iam.policies.role import RoleDefinition


def identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*own(deployment, READS), UNSCANNED, UNFENCEABLE))


def trusted(deployment: Deployment) -> Policy:
    return trust.as_a_tenant(deployment, SERVICE_BASE)


TENANT_READ = RoleDefinition(identity=identity, trust=trusted, boundary=identity)
