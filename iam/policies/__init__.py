"""The policies of every role, as functions of a deployment."""

from collections.abc import Mapping
from types import MappingProxyType

from iam.policies import names
from iam.policies.control_plane import CONTROL_PLANE
from iam.policies.migrator import MIGRATOR
from iam.policies.provisioner import PROVISIONER
from iam.policies.role import RoleDefinition
from iam.policies.service_base import SERVICE_BASE
from iam.policies.stream_worker import STREAM_WORKER
from iam.policies.tenant_migration import TENANT_MIGRATION
from iam.policies.tenant_read import TENANT_READ
from iam.policies.tenant_write import TENANT_WRITE
from iam.policies.warden import WARDEN

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
