"""The names of the IAM roles of Keyfence, without the role prefix of a deployment."""

from typing import Final

TENANT_READ: Final = "tenant-read"
TENANT_WRITE: Final = "tenant-write"
SERVICE_BASE: Final = "service-base"
CONTROL_PLANE: Final = "control-plane"
STREAM_WORKER: Final = "stream-worker"
MIGRATOR: Final = "migrator"
TENANT_MIGRATION: Final = "tenant-migration"
SUSPENDER: Final = "suspender"
PROVISIONER: Final = "provisioner"
