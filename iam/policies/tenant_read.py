"""tenant-read: the items of the tenant that the session is tagged with, to read."""

from iam.boundary import tenant_boundary
from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import trust
from iam.policies.actions import READS
from iam.policies.fence import UNFENCEABLE, UNSCANNED, inside
from iam.policies.names import SERVICE_BASE
from iam.policies.role import RoleDefinition
from iam.policies.tag import TENANT_OF_SESSION


def identity(deployment: Deployment) -> Policy:
    own = inside(deployment, tenant_boundary(TENANT_OF_SESSION), READS)
    return Policy(statements=(*own, UNSCANNED, UNFENCEABLE))


def trusted(deployment: Deployment) -> Policy:
    return trust.as_a_tenant(deployment, SERVICE_BASE)


TENANT_READ = RoleDefinition(identity=identity, trust=trusted, boundary=identity)
