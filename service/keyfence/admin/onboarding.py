"""`OnboardingRequest`, `Onboarding`: claim, write the owner, activate."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256

import orjson

from keyfence.auth.principal import Role
from keyfence.domains.users.model import User, UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.ids import new_id
from keyfence.tenancy.issuer_registration import TenantIssuer, new_tenant_issuer
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import MAX_NAME_LENGTH, Tenant, checked_name
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence.validation import checked_email, checked_line
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class OnboardingRequest:
    """Two that are equal in everything ask for the same tenant."""

    id: TenantId
    name: str
    tier: Tier
    owner_email: str
    owner_name: str
    issuer: str
    jwks: Mapping[str, object] | None = None
    jwks_uri: str | None = None

    def check(
        self, now: datetime, reserved: Container[str] = (), *, allow_development_keys: bool = False
    ) -> TenantIssuer:
        """Nothing is claimed for an application with which something is wrong."""
        checked_name(self.name)
        checked_line(self.owner_name, "ownerName", MAX_NAME_LENGTH)
        checked_email(self.owner_email, "ownerEmail")
        return new_tenant_issuer(
            self.id,
            self.issuer,
            self.jwks,
            self.jwks_uri,
            now,
            reserved_issuers=reserved,
            allow_development_keys=allow_development_keys,
        )

    def digest(self) -> str:
        return sha256(orjson.dumps(self, option=orjson.OPT_SORT_KEYS)).hexdigest()


TAKEN = partial(Conflict, "another tenant has this id, or was onboarded by another request", field="id")

GONE = frozenset({TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED})

UsersOf = Callable[[Tenant], UserRepository]
"""The users of a tenant, reached with that tenant's own credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnboardingResult:
    """A tenant that is served from now on, and the user who owns it."""

    tenant: Tenant
    owner: User
    created: bool
    """False when it was there already."""


@dataclass(frozen=True, slots=True)
class Onboarding:
    """The id and the issuer are claimed first, the owner is written next, and only then is the tenant served.

    Whoever sends the same application again, after a crash or a lost answer, goes on where it stopped."""

    tenants: TenantRepository
    users_of: UsersOf
    reserved: Container[str] = ()
    """Issuers that the settings name, which no tenant can have."""
    now: Callable[[], datetime] = timestamps.utc_now
    allow_development_keys: bool = False

    async def __call__(self, wanted: OnboardingRequest) -> OnboardingResult:
        tenant, created = await self._claimed(wanted)
        if tenant.status is not TenantStatus.PROVISIONING:
            return OnboardingResult(tenant=tenant, owner=_owner(tenant, wanted), created=False)
        owner = await self._written(self.users_of(tenant), UserId(tenant.owner_id), wanted)
        return OnboardingResult(tenant=await self._activated(tenant.id), owner=owner, created=created)

    async def _claimed(self, wanted: OnboardingRequest) -> tuple[Tenant, bool]:
        identity = wanted.check(self.now(), self.reserved, allow_development_keys=self.allow_development_keys)
        if known := await self.tenants.find(wanted.id):
            return _same(known, wanted), False
        fresh = self._fresh(wanted)
        try:
            await self.tenants.add_with_issuer(fresh, identity, {"tier": wanted.tier, "issuer": wanted.issuer})
        except Conflict:
            if known := await self.tenants.find(wanted.id):
                return _same(known, wanted), False
            raise
        return fresh, True

    def _fresh(self, wanted: OnboardingRequest) -> Tenant:
        now = self.now()
        return Tenant(
            id=wanted.id,
            name=wanted.name,
            tier=wanted.tier,
            status=TenantStatus.PROVISIONING,
            issuer=wanted.issuer,
            owner_id=new_id("usr"),
            onboarding_digest=wanted.digest(),
            created_at=now,
            updated_at=now,
        )

    async def _written(self, users: UserRepository, id: UserId, wanted: OnboardingRequest) -> User:
        """Of several who go on at once, one writes."""
        if known := await users.find(id):
            return known
        try:
            return await users.create(id=id, email=wanted.owner_email, name=wanted.owner_name, role=Role.OWNER)
        except Conflict:
            if (written := await users.find(id)) is None:
                raise
            return written

    async def _activated(self, id: TenantId) -> Tenant:
        return await self.tenants.change(id, TenantEventKind.ONBOARDED, _active, detail={})


def _same(known: Tenant, wanted: OnboardingRequest) -> Tenant:
    if known.onboarding_digest != wanted.digest() or known.status in GONE:
        raise TAKEN()
    return known


def _active(tenant: Tenant) -> Tenant:
    """Unless somebody was faster, who may even have suspended it since."""
    return replace(tenant, status=TenantStatus.ACTIVE) if tenant.status is TenantStatus.PROVISIONING else tenant


def _owner(tenant: Tenant, wanted: OnboardingRequest) -> User:
    """As the application has it: who has left since, or changed, is the tenant's own business."""
    return User(
        id=UserId(tenant.owner_id),
        email=wanted.owner_email,
        name=wanted.owner_name,
        role=Role.OWNER,
        created_at=tenant.created_at,
        updated_at=tenant.created_at,
    )
