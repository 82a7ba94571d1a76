"""tenant-migration: tenant-write for those who move or purge a tenant's items, also while the tenant is suspended."""

from iam.deployment import Deployment
from iam.document import Policy
from iam.policies import trust
from iam.policies.names import MIGRATOR
from iam.policies.role import RoleDefinition
from iam.policies.tenant_write import identity


def trusted(deployment: Deployment) -> Policy:
    return trust.as_a_tenant(deployment, MIGRATOR)


TENANT_MIGRATION = RoleDefinition(identity=identity, trust=trusted, boundary=identity)
