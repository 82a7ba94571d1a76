"""Tenants, their shards and their events as JSON, for commands with --json."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from keyfence.cli.terminal_output import format_timestamp
from keyfence.store.codec import attribute_name

if TYPE_CHECKING:
    from keyfence.store.shards import ShardCounts
    from keyfence.tenancy.placement import TableMove
    from keyfence.tenancy.tenant import Tenant
    from keyfence.tenancy.tenant_events import TenantEvent


def tenant_json(tenant: "Tenant") -> dict[str, Any]:
    return {
        "id": tenant.id,
        "name": tenant.name,
        "status": tenant.status,
        "tier": tenant.tier,
        "placement": tenant.placement,
        "move": _move_json(tenant.move) if tenant.move else None,
        "issuer": tenant.issuer,
        "origins": sorted(tenant.origins),
        "reason": tenant.reason,
        "storedBytes": tenant.stored_bytes,
        "quotas": _camel_case_keys(asdict(tenant.quotas)),
        "overrides": {
            name: value for name, value in _camel_case_keys(asdict(tenant.overrides)).items() if value is not None
        },
        "createdAt": format_timestamp(tenant.created_at),
        "updatedAt": format_timestamp(tenant.updated_at),
        "version": tenant.version,
    }


def _move_json(move: "TableMove") -> dict[str, Any]:
    return {"to": move.final_placement, "phase": move.phase, "job": move.job_id, "isCancelled": move.is_cancelled}


def shards_json(shard_counts: "Mapping[str, ShardCounts]") -> list[dict[str, Any]]:
    return [
        {"collection": collection, **_camel_case_keys(asdict(counts))} for collection, counts in shard_counts.items()
    ]


def event_json(event: "TenantEvent") -> dict[str, Any]:
    return {
        "id": event.id,
        "at": format_timestamp(event.created_at),
        "kind": event.kind,
        "by": event.by,
        "detail": json.loads(event.detail),
    }


def _camel_case_keys(values: dict[str, Any]) -> dict[str, Any]:
    return {attribute_name(name): value for name, value in values.items()}
