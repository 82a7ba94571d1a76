"""The policies of every role, as functions of a deployment."""

from collections.abc import Mapping
from types import MappingProxyType

from keyfence_iam.policies import names
from keyfence_iam.policies.control_plane import CONTROL_PLANE
from keyfence_iam.policies.migrator import MIGRATOR
from keyfence_iam.policies.provisioner import PROVISIONER
from keyfence_iam.policies.role import RoleDefinition
from keyfence_iam.policies.service_base import SERVICE_BASE
from keyfence_iam.policies.stream_worker import STREAM_WORKER
from keyfence_iam.policies.tenant_migration import TENANT_MIGRATION
from keyfence_iam.policies.tenant_read import TENANT_READ
from keyfence_iam.policies.tenant_write import TENANT_WRITE
from keyfence_iam.policies.warden import WARDEN

ROLES: Mapping[str, RoleDefinition] = MappingProxyType(
    {
        names.TENANT_READ: TENANT_READ,
        names.TENANT_WRITE: TENANT_WRITE,
        names.SERVICE_BASE: SERVICE_BASE,
        names.CONTROL_PLANE: CONTROL_PLANE,
        names.STREAM_WORKER: STREAM_WORKER,
        names.MIGRATOR: MIGRATOR,
        names.TENANT_MIGRATION: TENANT_MIGRATION,
        names.WARDEN: WARDEN,
        names.PROVISIONER: PROVISIONER,
    }
)

__all__ = ["ROLES", "RoleDefinition"]
