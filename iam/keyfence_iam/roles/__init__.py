"""`ROLES`: the IAM roles that Keyfence deploys, by name. Their policies are functions of a `Deployment`."""

from collections.abc import Mapping
from types import MappingProxyType

from keyfence_iam.policy.role import RoleDefinition
from keyfence_iam.roles import names, service_roles, tenant_roles

ROLES: Mapping[str, RoleDefinition] = MappingProxyType(
    {
        names.TENANT_READ: tenant_roles.TENANT_READ,
        names.TENANT_WRITE: tenant_roles.TENANT_WRITE,
        names.SERVICE_BASE: service_roles.SERVICE_BASE,
        names.CONTROL_PLANE: service_roles.CONTROL_PLANE,
        names.STREAM_WORKER: service_roles.STREAM_WORKER,
        names.MIGRATOR: service_roles.MIGRATOR,
        names.TENANT_MIGRATION: tenant_roles.TENANT_MIGRATION,
        names.SUSPENDER: service_roles.SUSPENDER,
        names.PROVISIONER: service_roles.PROVISIONER,
    }
)

__all__ = ["ROLES", "RoleDefinition"]
