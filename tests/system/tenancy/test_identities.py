"""Identities are found by every letter of their issuers, and get other keys with the event or not at all."""

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
class Overtaken(TenantRepository):
    """Between two of its reads something happens."""

    meanwhile: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    async def find_issuer(self, issuer: str) -> TenantIssuer | None:
        while self.meanwhile:
            await self.meanwhile.pop()()
        return await super().find_issuer(issuer)


def register_of(stack: ServiceStack) -> TenantRepository:
    return TenantRepository(stack.tables.for_control_plane(writes=True), "an-operator")


def reader(stack: ServiceStack) -> TenantRepository:
    return TenantRepository(stack.tables.for_control_plane(writes=False), "")


async def claimed(
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
    await register_of(stack).add_with_issuer(
        tenant, new_tenant_issuer(name, provider.issuer, provider.jwks(), None, now), {}
    )
    return name, provider


async def kept(stack: ServiceStack, issuer: str) -> TenantIssuer:
    identity = await reader(stack).find_issuer(issuer)
    assert identity is not None
    return identity


async def events(stack: ServiceStack, id: TenantId) -> list[tuple[str, str, object]]:
    page = await register_of(stack).events(id, first=50, after=None)
    return [(edge.node.kind, edge.node.by, json.loads(edge.node.detail)) for edge in page.edges]


async def test_neighbours_with_a_common_beginning_are_found_each_by_its_own_issuer(stack: ServiceStack) -> None:
    (a1, first), (a10, tenth) = await claimed(stack, "a1"), await claimed(stack, "a10")
    assert (await kept(stack, first.issuer)).tenant == a1
    assert (await kept(stack, tenth.issuer)).tenant == a10
    for other in ("https://id.example/a", f"{first.issuer}/", first.issuer.upper(), f"{tenth.issuer}0"):
        assert await reader(stack).find_issuer(other) is None


async def test_an_issuer_belongs_to_the_first_who_claims_it(stack: ServiceStack) -> None:
    first, provider = await claimed(stack)
    with pytest.raises(Conflict, match="issuer"):
        await claimed(stack, issuer=provider.issuer)
    assert (await kept(stack, provider.issuer)).tenant == first


async def test_one_reads_an_identity_with_one_call(stack: ServiceStack) -> None:
    _, provider = await claimed(stack)
    stack.take_calls()
    await kept(stack, provider.issuer)
    assert [call.operation for call in stack.take_calls()] == ["GetItem"]


async def test_other_keys_replace_the_first_ones_and_leave_an_event(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    before, new = await kept(stack, provider.issuer), TenantIdentityProvider(issuer=provider.issuer)
    heard: list[Tenant] = []
    tenant = await IssuerKeyRotation(register_of(stack), heard.append)(id, new.jwks(), None)
    after = await kept(stack, provider.issuer)
    assert json.loads(after.jwks or "") == new.jwks()
    assert (after.version, after.tenant, after.created_at) == (2, id, before.created_at)
    assert heard == [tenant]
    kid = json.loads(after.jwks or "")["keys"][0]["kid"]
    detail = {"issuer": provider.issuer, "kids": [kid]}
    assert ("tenant.issuer_keys_changed", "an-operator", detail) in await events(stack, id)


async def test_an_address_replaces_keys_and_keys_replace_an_address(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    rotate = IssuerKeyRotation(register_of(stack))
    await rotate(id, None, "https://id.example/jwks")
    moved = await kept(stack, provider.issuer)
    assert (moved.jwks, moved.jwks_uri) == (None, "https://id.example/jwks")
    await rotate(id, provider.jwks(), None)
    back = await kept(stack, provider.issuer)
    assert (json.loads(back.jwks or ""), back.jwks_uri) == (provider.jwks(), None)


async def test_the_same_keys_again_are_no_change(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    await IssuerKeyRotation(register_of(stack))(id, provider.jwks(), None)
    assert (await kept(stack, provider.issuer)).version == 1
    assert [kind for kind, _, _ in await events(stack, id)] == ["tenant.registered"]


async def test_rotations_at_once_all_happen_one_after_the_other(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    new = [TenantIdentityProvider(issuer=provider.issuer) for _ in range(5)]
    await asyncio.gather(*(IssuerKeyRotation(register_of(stack))(id, one.jwks(), None) for one in new))
    last = await kept(stack, provider.issuer)
    assert last.version == 6
    assert json.loads(last.jwks or "") in [one.jwks() for one in new]
    assert [kind for kind, _, _ in await events(stack, id)].count("tenant.issuer_keys_changed") == 5


async def test_hostile_keys_change_nothing(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    with pytest.raises(BadInput):
        await IssuerKeyRotation(register_of(stack))(id, {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}]}, None)
    assert (await kept(stack, provider.issuer)).version == 1


async def test_a_tenant_without_an_issuer_of_its_own_gets_no_keys(stack: ServiceStack) -> None:
    with pytest.raises(Conflict, match="KEYFENCE_ISSUERS"):
        await IssuerKeyRotation(register_of(stack))(await stack.new_tenant(), None, "https://id.example/jwks")


async def test_keys_of_an_unknown_tenant_cannot_be_set(stack: ServiceStack) -> None:
    with pytest.raises(NotFound):
        await IssuerKeyRotation(register_of(stack))(parse_tenant_id("nobody-here"), None, "https://id.example/jwks")


async def test_a_freed_issuer_is_not_given_keys_by_the_tenant_that_had_it(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    control = stack.tables.for_control_plane(writes=True)
    await control.write(delete(issuers, {"digest": issuer_digest(provider.issuer)}))
    with pytest.raises(Conflict):
        await IssuerKeyRotation(register_of(stack))(id, None, "https://id.example/jwks")
    heir, now = parse_tenant_id(f"{id}-heir"), datetime.now(UTC)
    await control.write(put(issuers, new_tenant_issuer(heir, provider.issuer, provider.jwks(), None, now)))
    with pytest.raises(Conflict):
        await IssuerKeyRotation(register_of(stack))(id, None, "https://id.example/jwks")
    assert (await kept(stack, provider.issuer)).tenant == heir


async def test_a_tenant_that_begins_to_leave_meanwhile_gets_no_keys(stack: ServiceStack) -> None:
    id, provider = await claimed(stack)
    tenants = register_of(stack)

    async def leave() -> None:
        await tenants.change(
            id, TenantEventKind.OFFBOARDING, partial(replace, status=TenantStatus.OFFBOARDING), detail={}
        )

    hurried = Overtaken(tenants.table, tenants.actor, meanwhile=[leave])
    with pytest.raises(Conflict, match="OFFBOARDING"):
        await IssuerKeyRotation(hurried)(id, None, "https://id.example/jwks")
    assert (await kept(stack, provider.issuer)).version == 1
    assert "tenant.issuer_keys_changed" not in [kind for kind, _, _ in await events(stack, id)]
