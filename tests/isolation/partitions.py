"""The partitions on which tests try sessions, and the rule that says which calls a session may make there."""

from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.store.keys import Fence
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, tenant_key_prefix
from tests.isolation.catalogue_calls import Call

TENANT, NEIGHBOUR = "a1", "a10"
PARTITIONS: Mapping[str, Fence] = {
    "its own": Fence("tenant", tenant_key_prefix(TENANT)),
    "the neighbour whose id begins with its own": Fence("tenant", tenant_key_prefix(NEIGHBOUR)),
    "another tenant": Fence("tenant", tenant_key_prefix("zebra")),
    "no tenant": Fence("tenant", ""),
    "the empty tenant": Fence("tenant", tenant_key_prefix("")),
    "its own in capitals": Fence("tenant", tenant_key_prefix(TENANT.upper())),
    "its own in small letters": Fence("tenant", tenant_key_prefix(TENANT).lower()),
    "its own with - instead of the closing #": Fence("tenant", tenant_key_prefix(TENANT)[:-1] + "-"),
    "the control plane": Fence("control", CONTROL_PLANE_PREFIX),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """A role, and the tenant tag of its session."""

    role: str
    tenant: str | None = None

    def __str__(self) -> str:
        return f"{self.role} of {self.tenant}" if self.tenant else self.role

    def may(self, call: Call, partition: str) -> bool:
        """Whether the design allows this caller the call on a partition of PARTITIONS."""
        if self.role == "control-plane":
            return partition == "the control plane"
        may_write = self.role in {"tenant-write", "tenant-migration"}
        own_partition = {TENANT: "its own", NEIGHBOUR: "the neighbour whose id begins with its own"}.get(
            self.tenant or ""
        )
        return partition == own_partition and (may_write or (self.role == "tenant-read" and not call.writes))


CALLERS = (
    Caller("tenant-read", TENANT),
    Caller("tenant-write", TENANT),
    Caller("tenant-read", NEIGHBOUR),
    Caller("tenant-write", NEIGHBOUR),
    Caller("tenant-migration", TENANT),
    Caller("tenant-migration", NEIGHBOUR),
    Caller("tenant-write"),
    Caller("tenant-migration"),
    Caller("control-plane"),
    Caller("service-base"),
    Caller("provisioner"),
    Caller("stream-worker"),
    Caller("suspender"),
)
