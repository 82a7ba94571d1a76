"""`TenantIssuer`: an issuer that a tenant registers, and the checks of its URL, keys and claim mapping."""

import hashlib
import sys
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

import orjson

from keyfence.auth.claim_mapping import BadClaimMapping, parse_claim_mapping
from keyfence.auth.egress import BadJwksUri, parse_tenant_uri
from keyfence.auth.issuer import MAX_ISSUER_LENGTH, is_issuer_url
from keyfence.auth.jwk_parser import MalformedJwks, UnusableKey, jwks_for_signatures, parse_jwks_strictly
from keyfence.auth.jwks_url import metadata_urls
from keyfence.development_keys import DEVELOPMENT_ISSUER, is_development_key
from keyfence.errors import BadInput
from keyfence_iam.tenant import TenantId

MAX_KEYS = 16
"""How many keys an issuer may have. All of them are in one item, which servers read to verify tokens."""

MAX_JWKS_BYTES = 32 * 1024
MAX_MAPPING_BYTES = 16 * 1024
STORED_MEMBERS = frozenset({"kty", "kid", "use", "alg", "crv", "x", "y", "n", "e"})
"""The members of a key that are stored. All other members are dropped, so that no private key is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantIssuer:
    """An issuer that one tenant has registered. At most one of `jwks` (JSON text) and `jwks_uri` is set. Without both,
    the metadata of the issuer name the URL of its keys."""

    digest: str
    """The digest of the issuer's URL. It is the key of the item, so a URL can be registered only once."""
    issuer: str
    tenant: TenantId
    created_at: datetime
    updated_at: datetime
    version: int = 1
    jwks: str | None = None
    jwks_uri: str | None = None
    mapping: str | None = None
    """The claim mapping (JSON text). None: the tokens have the claims `tenant` and `role`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerKeys:
    """The keys of an issuer (`jwks`, as JSON text), or the URI that they are fetched from. If both are None, the
    metadata of the issuer name the URI."""

    jwks: str | None = None
    jwks_uri: str | None = None


def new_tenant_issuer(
    tenant: TenantId,
    issuer: str,
    jwks: object,
    jwks_uri: str | None,
    now: datetime,
    *,
    mapping: object = None,
    reserved_issuers: Container[str] = (),
    allow_development_keys: bool = False,
) -> TenantIssuer:
    """Raises BadInput if the issuer's URL, its keys or its mapping are not valid, or if the URL is one of
    `reserved_issuers`."""
    checked_issuer(issuer, reserved_issuers)
    keys = checked_keys(jwks, jwks_uri, issuer, allow_development_keys=allow_development_keys)
    return TenantIssuer(
        digest=issuer_digest(issuer),
        issuer=issuer,
        tenant=tenant,
        jwks=keys.jwks,
        jwks_uri=keys.jwks_uri,
        mapping=checked_mapping(mapping, tenant),
        created_at=now,
        updated_at=now,
    )


def issuer_digest(issuer: str) -> str:
    """Returns the SHA-256 digest of an issuer's URL. It is used in the item's key because it has a fixed length."""
    return hashlib.sha256(issuer.encode(errors="surrogatepass")).hexdigest()


def checked_issuer(issuer: str, reserved_issuers: Container[str] = ()) -> str:
    if not is_issuer_url(issuer):
        raise BadInput(
            f"issuer must be an https:// URL of at most {MAX_ISSUER_LENGTH} characters, without a query or fragment,"
            " exactly as in the tokens",
            field="issuer",
        )
    if issuer == DEVELOPMENT_ISSUER or issuer in reserved_issuers:
        raise BadInput(
            "issuer belongs to the service itself; give the URL of the tenant's own identity provider", field="issuer"
        )
    return issuer


def checked_keys(
    jwks: object, jwks_uri: str | None, issuer: str, *, allow_development_keys: bool = False
) -> IssuerKeys:
    """Returns the keys, or the URI of the keys, as they are stored. Without both, the metadata of the issuer name the
    URI. Raises BadInput if the keys or the URI are not valid, or if the metadata must not be fetched.

    A development key, which `keyfence jwks` makes, is refused unless `allow_development_keys` is True: its private key
    is in a file of a development machine."""
    if jwks is not None and jwks_uri is not None:
        raise BadInput("give at most one of jwks and jwksUri", field="jwksUri")
    if jwks_uri is not None:
        _check_uri(jwks_uri, "jwksUri")
        return IssuerKeys(jwks_uri=jwks_uri)
    if jwks is not None:
        return IssuerKeys(jwks=_checked_jwks(jwks, allow_development_keys=allow_development_keys))
    for url in metadata_urls(issuer):
        _check_uri(url, "issuer")
    return IssuerKeys()


def checked_mapping(mapping: object, tenant: TenantId) -> str | None:
    """Returns the JSON text of a claim mapping as it is stored, or None if there is no mapping or an empty one. Raises
    BadInput if the mapping is not valid."""
    if mapping is None or mapping == {}:
        return None
    if _json_bytes(mapping) > MAX_MAPPING_BYTES:
        raise BadInput(f"mapping must be a JSON object of at most {MAX_MAPPING_BYTES:,} bytes", field="mapping")
    try:
        parse_claim_mapping(mapping, tenant)
    except BadClaimMapping as error:
        raise BadInput(f"mapping: {error}", field="mapping") from None
    return orjson.dumps(mapping, option=orjson.OPT_SORT_KEYS).decode()


def _check_uri(uri: str, field: str) -> None:
    try:
        parse_tenant_uri(uri)
    except BadJwksUri as error:
        raise BadInput(f"{field} {error}", field=field) from None


def _checked_jwks(jwks: object, *, allow_development_keys: bool) -> str:
    """Returns the JSON text that is stored: the public members of each key, always written in the same order."""
    if not isinstance(jwks, dict) or _json_bytes(jwks) > MAX_JWKS_BYTES:
        raise BadInput(
            f'jwks must be a JSON object like {{"keys": [...]}} of at most {MAX_JWKS_BYTES:,} bytes', field="jwks"
        )
    try:
        keys = parse_jwks_strictly(jwks)
    except (MalformedJwks, UnusableKey) as error:
        raise BadInput(f"jwks: {error}", field="jwks") from None
    if len(keys) > MAX_KEYS:
        raise BadInput(f"jwks has more than {MAX_KEYS} keys", field="jwks")
    development_kids = [] if allow_development_keys else [kid for kid in keys if is_development_key(kid)]
    if development_kids:
        raise BadInput(
            f"jwks: the key {development_kids[0]} is a development key of `keyfence jwks`; use a key of the tenant's"
            " own identity provider",
            field="jwks",
        )
    stored_keys = [_stored_members(key) for key in jwks_for_signatures(jwks)]
    return orjson.dumps({"keys": stored_keys}, option=orjson.OPT_SORT_KEYS).decode()


def _stored_members(key: object) -> dict[str, object]:
    members = key if isinstance(key, dict) else {}
    return {name: value for name, value in members.items() if name in STORED_MEMBERS}


def _json_bytes(value: object) -> int:
    """Returns the size of the value as JSON. A value that cannot be written as JSON counts as larger than any limit."""
    try:
        return len(orjson.dumps(value))
    except TypeError:
        return sys.maxsize
