"""`Onboarding`: sets up a new tenant with its issuer and its first user, the owner."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from hashlib import sha256

import orjson

from keyfence.auth.principal import Role
from keyfence.domains.users.model import User, UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.email_address import checked_email
from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.ids import new_id
from keyfence.tenancy.issuer_registration import TenantIssuer, new_tenant_issuer
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import MAX_NAME_LENGTH, Tenant, checked_name
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence.validation import checked_line
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class OnboardingRequest:
    """The values with which an operator onboards a tenant. Two requests with equal values count as one request."""

    id: TenantId
    name: str
    tier: Tier
    owner_email: str
    owner_name: str
    issuer: str
    jwks: Mapping[str, object] | None = None
    jwks_uri: str | None = None
    mapping: Mapping[str, object] | None = None

    def checked_issuer(
        self, now: datetime, reserved_issuers: Container[str] = (), *, allow_development_keys: bool = False
    ) -> TenantIssuer:
        """Checks all fields, and returns the issuer to store. Raises BadInput if a field is not valid."""
        checked_name(self.name)
        checked_line(self.owner_name, "ownerName", MAX_NAME_LENGTH)
        checked_email(self.owner_email, "ownerEmail")
        return new_tenant_issuer(
            self.id,
            self.issuer,
            self.jwks,
            self.jwks_uri,
            now,
            mapping=self.mapping,
            reserved_issuers=reserved_issuers,
            allow_development_keys=allow_development_keys,
        )

    def digest(self) -> str:
        """A request without a mapping has the digest that it had before requests could have one."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.mapping is None:
            del values["mapping"]
        return sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def event_detail(self) -> dict[str, object]:
        mapping = {} if self.mapping is None else {"mapping": self.mapping}
        return {"tier": self.tier, "issuer": self.issuer, **mapping}


TENANT_EXISTS = partial(
    Conflict, "a tenant with this id was onboarded by another request, or is offboarded; choose another id", field="id"
)

OFFBOARDING_STATUSES = frozenset({TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED})

UsersOf = Callable[[Tenant], UserRepository]
"""A function that returns the repository of a tenant's users. The repository uses a session of the tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnboardingResult:
    """The new tenant, and the user who owns it."""

    tenant: Tenant
    owner: User
    created: bool
    """False if the request is a repetition and the tenant existed before."""


@dataclass(frozen=True, slots=True)
class Onboarding:
    """Sets up a tenant in three steps: reserves the id and the issuer, stores the owner, makes the tenant ACTIVE.

    After a crash or a lost answer the operator sends the same request again. The onboarding then continues with the
    first step that is missing."""

    tenants: TenantRepository
    users_of: UsersOf
    reserved_issuers: Container[str] = ()
    """The issuers of the settings, which no tenant can register."""
    now: Callable[[], datetime] = timestamps.utc_now
    allow_development_keys: bool = False

    async def __call__(self, request: OnboardingRequest) -> OnboardingResult:
        """Raises Conflict if the id or the issuer belongs to a tenant that was onboarded by another request, or that is
        offboarded."""
        tenant, created = await self._find_or_add_tenant(request)
        if tenant.status is not TenantStatus.PROVISIONING:
            return OnboardingResult(tenant=tenant, owner=_owner_as_requested(tenant, request), created=False)
        owner = await self._find_or_create_owner(self.users_of(tenant), UserId(tenant.owner_id), request)
        active = await self.tenants.change(tenant.id, TenantEventKind.ONBOARDED, activated, detail={})
        return OnboardingResult(tenant=active, owner=owner, created=created)

    async def _find_or_add_tenant(self, request: OnboardingRequest) -> tuple[Tenant, bool]:
        """Returns the tenant, and whether this call has stored it. Nothing is stored if the request is not valid."""
        issuer = request.checked_issuer(
            self.now(), self.reserved_issuers, allow_development_keys=self.allow_development_keys
        )
        if existing := await self.tenants.find(request.id):
            return require_same_request(existing, request), False
        tenant = self._new_tenant(request)
        try:
            await self.tenants.add_with_issuer(tenant, issuer, request.event_detail())
        except Conflict:
            # The same request may run twice at the same time.
            if existing := await self.tenants.find(request.id):
                return require_same_request(existing, request), False
            raise
        return tenant, True

    def _new_tenant(self, request: OnboardingRequest) -> Tenant:
        now = self.now()
        return Tenant(
            id=request.id,
            name=request.name,
            tier=request.tier,
            status=TenantStatus.PROVISIONING,
            issuer=request.issuer,
            owner_id=new_id("usr"),
            onboarding_digest=request.digest(),
            created_at=now,
            updated_at=now,
        )

    async def _find_or_create_owner(self, users: UserRepository, id: UserId, request: OnboardingRequest) -> User:
        if existing := await users.find(id):
            return existing
        try:
            return await users.create(id=id, email=request.owner_email, name=request.owner_name, role=Role.OWNER)
        except Conflict:
            # The same request, running at the same time, may have created the owner.
            if (existing := await users.find(id)) is None:
                raise
            return existing


def require_same_request(tenant: Tenant, request: OnboardingRequest) -> Tenant:
    """Returns the tenant. Raises Conflict if another request has onboarded it, or if it is offboarded."""
    if tenant.onboarding_digest != request.digest() or tenant.status in OFFBOARDING_STATUSES:
        raise TENANT_EXISTS()
    return tenant


def activated(tenant: Tenant) -> Tenant:
    """Returns the tenant as ACTIVE if it is PROVISIONING. Otherwise returns it unchanged: another request has activated
    it, and an operator may have suspended it since."""
    return replace(tenant, status=TenantStatus.ACTIVE) if tenant.status is TenantStatus.PROVISIONING else tenant


def _owner_as_requested(tenant: Tenant, request: OnboardingRequest) -> User:
    """Returns the owner with the values of the request. The stored user may be different by now, but operators may not
    read the items of a tenant after its onboarding."""
    return User(
        id=UserId(tenant.owner_id),
        email=request.owner_email,
        name=request.owner_name,
        role=Role.OWNER,
        created_at=tenant.created_at,
        updated_at=tenant.created_at,
    )
