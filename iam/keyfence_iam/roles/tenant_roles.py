"""The policies of the tenant roles: tenant-read, tenant-write and tenant-migration.

The identity policy of each role is also its permissions boundary, so no other policy on the role can allow more.
"""

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy
from keyfence_iam.policy.actions import READ_ACTIONS, WRITE_ACTIONS
from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles.names import MIGRATOR, SERVICE_BASE, STREAM_WORKER
from keyfence_iam.roles.shared_statements import DENY_SCAN, DENY_TABLE_WIDE, allow_tenant_items, trust_with_tenant_tag


def tenant_read_identity(deployment: Deployment) -> Policy:
    return Policy(statements=(*allow_tenant_items(deployment, READ_ACTIONS), DENY_SCAN, DENY_TABLE_WIDE))


def tenant_read_trust(deployment: Deployment) -> Policy:
    return trust_with_tenant_tag(deployment, SERVICE_BASE)


TENANT_READ = RoleDefinition(identity=tenant_read_identity, trust=tenant_read_trust, boundary=tenant_read_identity)


def tenant_write_identity(deployment: Deployment) -> Policy:
    return Policy(
        statements=(*allow_tenant_items(deployment, (*READ_ACTIONS, *WRITE_ACTIONS)), DENY_SCAN, DENY_TABLE_WIDE)
    )


def tenant_write_trust(deployment: Deployment) -> Policy:
    return trust_with_tenant_tag(deployment, SERVICE_BASE, STREAM_WORKER)


TENANT_WRITE = RoleDefinition(identity=tenant_write_identity, trust=tenant_write_trust, boundary=tenant_write_identity)


def tenant_migration_trust(deployment: Deployment) -> Policy:
    return trust_with_tenant_tag(deployment, MIGRATOR)


TENANT_MIGRATION = RoleDefinition(
    identity=tenant_write_identity, trust=tenant_migration_trust, boundary=tenant_write_identity
)
