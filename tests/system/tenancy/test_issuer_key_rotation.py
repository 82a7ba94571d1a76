"""Issuers are found by their exact URL. Their keys are replaced together with an event, or not at all."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

import pytest

from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store.writes import delete, put
from keyfence.tenancy.access_patterns import issuers
from keyfence.tenancy.issuer_key_rotation import IssuerKeyRotation
from keyfence.tenancy.issuer_registration import TenantIssuer, issuer_digest, new_tenant_issuer
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ServiceStack

_numbers = itertools.count(1)


@dataclass(frozen=True)
class ChangedBetweenReads(TenantRepository):
    """Runs `between_reads` before it reads the issuer, when it has read the tenant."""

    between_reads: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    async def find_issuer(self, issuer: str) -> TenantIssuer | None:
        while self.between_reads:
            await self.between_reads.pop()()
        return await super().find_issuer(issuer)


def repository(stack: ServiceStack) -> TenantRepository:
    return TenantRepository(stack.tables.for_control_plane(may_write=True), "an-operator")


def read_only_repository(stack: ServiceStack) -> TenantRepository:
    return TenantRepository(stack.tables.for_control_plane(may_write=False), "")


async def add_tenant(
    stack: ServiceStack, id: str | None = None, issuer: str | None = None
) -> tuple[TenantId, TenantIdentityProvider]:
    name = parse_tenant_id(id or f"owner-{next(_numbers)}")
    provider = TenantIdentityProvider(issuer=issuer or f"https://id.example/{name}")
    now = datetime.now(UTC)
    tenant = Tenant(
        id=name,
        name=name,
        tier=Tier.FREE,
        status=TenantStatus.ACTIVE,
        issuer=provider.issuer,
        created_at=now,
        updated_at=now,
    )
    await repository(stack).add_with_issuer(
        tenant, new_tenant_issuer(name, provider.issuer, provider.jwks(), None, now), {}
    )
    return name, provider


async def get_issuer(stack: ServiceStack, issuer: str) -> TenantIssuer:
    stored = await read_only_repository(stack).find_issuer(issuer)
    assert stored is not None
    return stored


async def events(stack: ServiceStack, id: TenantId) -> list[tuple[str, str, object]]:
    page = await repository(stack).events(id, first=50, after=None)
    return [(edge.node.kind, edge.node.by, json.loads(edge.node.detail)) for edge in page.edges]


async def test_tenants_with_a_common_prefix_are_found_by_their_own_issuer(stack: ServiceStack) -> None:
    (a1, first), (a10, tenth) = await add_tenant(stack, "a1"), await add_tenant(stack, "a10")
    assert (await get_issuer(stack, first.issuer)).tenant == a1
    assert (await get_issuer(stack, tenth.issuer)).tenant == a10
    for other in ("https://id.example/a", f"{first.issuer}/", first.issuer.upper(), f"{tenth.issuer}0"):
        assert await read_only_repository(stack).find_issuer(other) is None


async def test_an_issuer_belongs_to_the_first_tenant_that_registers_it(stack: ServiceStack) -> None:
    first, provider = await add_tenant(stack)
    with pytest.raises(Conflict, match="issuer"):
        await add_tenant(stack, issuer=provider.issuer)
    assert (await get_issuer(stack, provider.issuer)).tenant == first


async def test_an_issuer_is_read_with_one_call(stack: ServiceStack) -> None:
    _, provider = await add_tenant(stack)
    stack.take_calls()
    await get_issuer(stack, provider.issuer)
    assert [call.operation for call in stack.take_calls()] == ["GetItem"]


async def test_new_keys_replace_the_old_keys_and_are_stored_with_an_event(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    before, new_provider = await get_issuer(stack, provider.issuer), TenantIdentityProvider(issuer=provider.issuer)
    notified: list[Tenant] = []
    tenant = await IssuerKeyRotation(repository(stack), notified.append)(id, new_provider.jwks(), None)
    after = await get_issuer(stack, provider.issuer)
    assert json.loads(after.jwks or "") == new_provider.jwks()
    assert (after.version, after.tenant, after.created_at) == (2, id, before.created_at)
    assert notified == [tenant]
    kid = json.loads(after.jwks or "")["keys"][0]["kid"]
    detail = {"issuer": provider.issuer, "kids": [kid]}
    assert ("tenant.issuer_keys_changed", "an-operator", detail) in await events(stack, id)


async def test_a_jwks_uri_replaces_keys_and_keys_replace_a_jwks_uri(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    rotate = IssuerKeyRotation(repository(stack))
    await rotate(id, None, "https://id.example/jwks")
    moved = await get_issuer(stack, provider.issuer)
    assert (moved.jwks, moved.jwks_uri) == (None, "https://id.example/jwks")
    await rotate(id, provider.jwks(), None)
    back = await get_issuer(stack, provider.issuer)
    assert (json.loads(back.jwks or ""), back.jwks_uri) == (provider.jwks(), None)


async def test_the_same_keys_again_change_nothing(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    await IssuerKeyRotation(repository(stack))(id, provider.jwks(), None)
    assert (await get_issuer(stack, provider.issuer)).version == 1
    assert [kind for kind, _, _ in await events(stack, id)] == ["tenant.registered"]


async def test_concurrent_rotations_all_take_effect_one_after_the_other(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    new_providers = [TenantIdentityProvider(issuer=provider.issuer) for _ in range(5)]
    await asyncio.gather(
        *(IssuerKeyRotation(repository(stack))(id, provider.jwks(), None) for provider in new_providers)
    )
    last = await get_issuer(stack, provider.issuer)
    assert last.version == 6
    assert json.loads(last.jwks or "") in [provider.jwks() for provider in new_providers]
    assert [kind for kind, _, _ in await events(stack, id)].count("tenant.issuer_keys_changed") == 5


async def test_invalid_keys_change_nothing(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    with pytest.raises(BadInput):
        await IssuerKeyRotation(repository(stack))(id, {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}]}, None)
    assert (await get_issuer(stack, provider.issuer)).version == 1


async def test_a_tenant_without_an_issuer_of_its_own_gets_no_keys(stack: ServiceStack) -> None:
    with pytest.raises(Conflict, match="KEYFENCE_ISSUERS"):
        await IssuerKeyRotation(repository(stack))(await stack.new_tenant(), None, "https://id.example/jwks")


async def test_keys_of_an_unknown_tenant_cannot_be_set(stack: ServiceStack) -> None:
    with pytest.raises(NotFound):
        await IssuerKeyRotation(repository(stack))(parse_tenant_id("unregistered"), None, "https://id.example/jwks")


async def test_a_tenant_cannot_change_the_keys_of_an_issuer_that_it_no_longer_owns(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    control = stack.tables.for_control_plane(may_write=True)
    await control.write(delete(issuers, {"digest": issuer_digest(provider.issuer)}))
    with pytest.raises(Conflict):
        await IssuerKeyRotation(repository(stack))(id, None, "https://id.example/jwks")
    next_owner, now = parse_tenant_id(f"{id}-next"), datetime.now(UTC)
    await control.write(put(issuers, new_tenant_issuer(next_owner, provider.issuer, provider.jwks(), None, now)))
    with pytest.raises(Conflict):
        await IssuerKeyRotation(repository(stack))(id, None, "https://id.example/jwks")
    assert (await get_issuer(stack, provider.issuer)).tenant == next_owner


async def test_a_tenant_whose_offboarding_begins_meanwhile_gets_no_keys(stack: ServiceStack) -> None:
    id, provider = await add_tenant(stack)
    tenants = repository(stack)

    async def leave() -> None:
        await tenants.change(
            id, TenantEventKind.OFFBOARDING, partial(replace, status=TenantStatus.OFFBOARDING), detail={}
        )

    changed_between_reads = ChangedBetweenReads(tenants.table, tenants.actor, between_reads=[leave])
    with pytest.raises(Conflict, match="OFFBOARDING"):
        await IssuerKeyRotation(changed_between_reads)(id, None, "https://id.example/jwks")
    assert (await get_issuer(stack, provider.issuer)).version == 1
    assert "tenant.issuer_keys_changed" not in [kind for kind, _, _ in await events(stack, id)]
