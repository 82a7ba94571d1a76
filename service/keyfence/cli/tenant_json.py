"""Tenants as JSON, under the names that the operators' API has for the same things."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from keyfence.store.codec import attribute
from keyfence.tenancy.shard_counts import every_collection

if TYPE_CHECKING:
    from keyfence.tenancy.event import TenantEvent
    from keyfence.tenancy.model import Tenant
    from keyfence.tenancy.move import Move


def echo(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def tenant_json(tenant: "Tenant") -> dict[str, Any]:
    return {
        "id": tenant.id,
        "name": tenant.name,
        "status": tenant.status,
        "tier": tenant.tier,
        "placement": tenant.placement,
        "move": move_json(tenant.move) if tenant.move else None,
        "issuer": tenant.issuer,
        "reason": tenant.reason,
        "storedBytes": tenant.stored_bytes,
        "quotas": named(asdict(tenant.quotas)),
        "overrides": {name: value for name, value in named(asdict(tenant.overrides)).items() if value is not None},
        "createdAt": moment(tenant.created_at),
        "updatedAt": moment(tenant.updated_at),
        "version": tenant.version,
    }


def move_json(move: "Move") -> dict[str, Any]:
    return {"to": move.goal, "phase": move.phase, "migration": move.migration, "back": move.back}


def shards_json(tenant: "Tenant") -> list[dict[str, Any]]:
    return [{"collection": name, **named(asdict(one))} for name, one in every_collection(tenant.shards).items()]


def event_json(event: "TenantEvent") -> dict[str, Any]:
    at, detail = moment(event.created_at), json.loads(event.detail)
    return {"id": event.id, "at": at, "kind": event.kind, "by": event.by, "detail": detail}


def named(values: dict[str, Any]) -> dict[str, Any]:
    return {attribute(name): value for name, value in values.items()}


def moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
