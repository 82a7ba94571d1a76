"""The policies of every role, as functions of a deployment."""

from collections.abc import Mapping
from types import MappingProxyType

from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles import names
from keyfence_iam.roles.service_roles import (
    CONTROL_PLANE,
    MIGRATOR,
    PROVISIONER,
    SERVICE_BASE,
    STREAM_WORKER,
    SUSPENDER,
)
from keyfence_iam.roles.tenant_roles import TENANT_MIGRATION, TENANT_READ, TENANT_WRITE

ROLES: Mapping[str, RoleDefinition] = MappingProxyType(
    {
        names.TENANT_READ: TENANT_READ,
        names.TENANT_WRITE: TENANT_WRITE,
        names.SERVICE_BASE: SERVICE_BASE,
        names.CONTROL_PLANE: CONTROL_PLANE,
        names.STREAM_WORKER: STREAM_WORKER,
        names.MIGRATOR: MIGRATOR,
        names.TENANT_MIGRATION: TENANT_MIGRATION,
        names.SUSPENDER: SUSPENDER,
        names.PROVISIONER: PROVISIONER,
    }
)

__all__ = ["ROLES", "RoleDefinition"]
