"""`ClaimMapping`: which claims of an issuer's tokens have the tenant, the role and the other values of a caller."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from keyfence.auth.principal import Role
from keyfence_iam.tenant import TenantId, parse_tenant_id

MAX_NAME_LENGTH = 256
"""How many characters a claim path, an audience, a provider's role or a provider's organisation id may have."""

MAX_ENTRIES = 10_000
"""How many entries one member of a mapping may have."""


class BadClaimMapping(ValueError):
    """A mapping that cannot be used. The message says which member is wrong."""


class ClaimUse(StrEnum):
    """The values that a mapping can take from a claim. They are the names in the member `claims` of a mapping."""

    TENANT = "tenant"
    ROLE = "role"
    SCOPE = "scope"
    SUBJECT = "subject"
    SESSION = "session"
    AUDIENCE = "audience"
    TOKEN_ID = "token_id"  # noqa: S105 a name of a member, not a password


STANDARD_NAMES: Mapping[ClaimUse, tuple[str, ...]] = {
    ClaimUse.TENANT: ("tenant",),
    ClaimUse.ROLE: ("role",),
    ClaimUse.SCOPE: ("scope",),
    ClaimUse.SUBJECT: ("sub",),
    ClaimUse.SESSION: (),
    ClaimUse.AUDIENCE: ("aud",),
    ClaimUse.TOKEN_ID: ("jti",),
}
"""The claims of an issuer without a mapping."""

PROVIDER_NAMES: Mapping[ClaimUse, tuple[str, ...]] = {
    **STANDARD_NAMES,
    ClaimUse.SCOPE: ("scope", "scp"),
    ClaimUse.SUBJECT: ("sub", "client_id", "cid"),
    ClaimUse.SESSION: ("sid",),
}
"""The claims of an issuer with a mapping, for each value that the mapping does not name. If a token
has several of these claims, the first of them in this list is used. A machine-to-machine token without `sub` names
its client in `client_id` or `cid`."""

ROLES_BY_NAME: Mapping[str, Role] = {role.value: role for role in Role}


@dataclass(frozen=True, slots=True)
class ClaimPath:
    """The name of a claim, or the path to a member of a claim, such as `realm_access.roles`."""

    text: str

    def find(self, claims: Mapping[str, object]) -> object:
        """Returns the value, or None if there is none. First searches for a claim whose name is the whole text, because
        the names of many claims are URLs, which contain dots."""
        if self.text in claims:
            return claims[self.text]
        value: object = claims
        for name in self.text.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMapping:
    """How the claims of an issuer identify a caller. The default value is for an issuer without a mapping."""

    tenant: TenantId | None = None
    """The only tenant that the issuer may issue tokens for. None: a claim of the token names the tenant."""
    audiences: frozenset[str] = frozenset()
    """The audiences that are accepted. Empty: the audience of the settings."""
    claims: Mapping[ClaimUse, ClaimPath] = field(default_factory=dict)
    """The claims that the mapping names. A token must have each of them. Only the claim of the role may be missing, if
    there is a default role."""
    roles: Mapping[str, Role] = field(default_factory=lambda: ROLES_BY_NAME)
    """Roles by their names at the provider."""
    tenants: Mapping[str, TenantId] = field(default_factory=dict)
    """Tenants by the ids of their organisations at the provider. Empty: the claim is the tenant id itself."""
    default_role: Role | None = None
    """The role of a caller whose token has no role of `roles`. None: such a token is refused."""
    is_custom: bool = False
    """Whether the issuer has a mapping. Then `jti` is optional, and roles, scopes and audiences may be lists."""

    def name(self, use: ClaimUse) -> str:
        """Returns the name of a claim for messages."""
        return self.claims[use].text if use in self.claims else PROVIDER_NAMES[use][0]

    def find(self, claims: Mapping[str, object], use: ClaimUse) -> object:
        """Returns the value of a claim, or None if the token does not have the claim."""
        if use in self.claims:
            return self.claims[use].find(claims)
        names = (PROVIDER_NAMES if self.is_custom else STANDARD_NAMES)[use]
        return next((claims[name] for name in names if claims.get(name) is not None), None)


def parse_claim_mapping(document: object, tenant: TenantId | None) -> ClaimMapping:
    """Returns the mapping of an issuer. The issuer may issue tokens only for `tenant`, or for all tenants if `tenant`
    is None. An empty document means that the issuer has no mapping.

    Raises BadClaimMapping if a member is unknown or malformed, or if a token could yield another tenant."""
    if not isinstance(document, dict):
        raise BadClaimMapping("a mapping must be a JSON object")
    if unknown := sorted(map(str, document.keys() - _PARSERS.keys())):
        raise BadClaimMapping(f"{unknown[0]!r} is not a member of a mapping; the members are {', '.join(_PARSERS)}")
    members: dict[str, Any] = {name: _PARSERS[name](name, value) for name, value in document.items()}
    mapping = ClaimMapping(tenant=tenant, is_custom=bool(document), **members)
    if tenant is not None and not set(mapping.tenants.values()) <= {tenant}:
        raise BadClaimMapping(f"tenants must name no tenant but {tenant}, to which the issuer belongs")
    return mapping


def _names(member: str, value: object) -> frozenset[str]:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_ENTRIES:
        raise BadClaimMapping(f"{member} must be a list of 1 to {MAX_ENTRIES:,} texts")
    return frozenset(_name(member, name) for name in value)


def _name(member: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME_LENGTH or not value.isprintable():
        raise BadClaimMapping(f"each text in {member} must have 1 to {MAX_NAME_LENGTH} printable characters")
    return value


def _entries(member: str, value: object) -> list[tuple[str, str]]:
    """Returns the entries of an object whose keys and values are texts."""
    if not isinstance(value, dict) or not 0 < len(value) <= MAX_ENTRIES:
        raise BadClaimMapping(f"{member} must be an object with 1 to {MAX_ENTRIES:,} members")
    return [(_name(member, key), _name(member, text)) for key, text in value.items()]


def _claims(member: str, value: object) -> Mapping[ClaimUse, ClaimPath]:
    entries = _entries(member, value)
    if unknown := [name for name, _ in entries if name not in set(ClaimUse)]:
        raise BadClaimMapping(f"{unknown[0]!r} is not a member of {member}; the members are {', '.join(ClaimUse)}")
    return {ClaimUse(name): ClaimPath(path) for name, path in entries}


def _role(member: str, value: object) -> Role:
    if not isinstance(value, str) or value not in ROLES_BY_NAME:
        raise BadClaimMapping(f"{member} must be one of {', '.join(Role)}")
    return Role(value)


def _roles(member: str, value: object) -> Mapping[str, Role]:
    return {name: _role(f"each value of {member}", role) for name, role in _entries(member, value)}


def _tenants(member: str, value: object) -> Mapping[str, TenantId]:
    try:
        return {name: parse_tenant_id(tenant) for name, tenant in _entries(member, value)}
    except BadClaimMapping:
        raise
    except ValueError as error:
        raise BadClaimMapping(f"{member}: {error}") from None


_PARSERS: Mapping[str, Callable[[str, object], object]] = {
    "audiences": _names,
    "claims": _claims,
    "roles": _roles,
    "tenants": _tenants,
    "default_role": _role,
}
"""The members of a mapping, and the functions that parse them."""
