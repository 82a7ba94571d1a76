"""tenant-migration: tenant-write for those who move or purge a tenant's items, also while the tenant is suspended."""

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy
from keyfence_iam.policies import trust
from keyfence_iam.policies.names import MIGRATOR
from keyfence_iam.policies.role import RoleDefinition
from keyfence_iam.policies.tenant_write import identity


def trusted(deployment: Deployment) -> Policy:
    return trust.as_a_tenant(deployment, MIGRATOR)


TENANT_MIGRATION = RoleDefinition(identity=identity, trust=trusted, boundary=identity)
