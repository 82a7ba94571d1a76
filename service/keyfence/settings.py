"""`Settings`: the settings of the service, read from the environment variables KEYFENCE_*."""

import base64
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from keyfence.development_keys import DEVELOPMENT_KEY_PREFIX

TENANT_CACHE_SECONDS = 5.0
TENANT_USE_SECONDS = 10.0
"""The defaults of `tenant_cache_seconds` and `tenant_use_seconds`, which tests and commands need too."""


class BadSettings(ValueError):
    """Raised for settings that cannot be used. `problems` has one sentence for each reason."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class IssuerSettings(BaseModel):
    """An identity provider whose tokens are accepted: for all tenants, or only for `tenant` if it is set.

    `jwks_uri` is the URL of its keys; `jwks` contains the keys themselves. Without both, the metadata of the issuer
    name the URL of its keys. The other members say which claims its tokens have; see `docs/build/identity.md`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str = Field(min_length=1)
    jwks_uri: str | None = None
    jwks: dict[str, object] | None = None
    tenant: str | None = None
    audiences: tuple[str, ...] = ()
    claims: dict[str, str] = {}
    roles: dict[str, str] = {}
    tenants: dict[str, str] = {}
    default_role: str | None = None

    @property
    def mapping(self) -> dict[str, object]:
        """The members that describe claims, as JSON. Members that are not set are left out."""
        return self.model_dump(
            mode="json", include={"audiences", "claims", "roles", "tenants", "default_role"}, exclude_unset=True
        )


class PriceSettings(BaseModel):
    """Prices in US dollars for a million capacity units in a region. `as_of` is the day of the price list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: str = Field(min_length=1)
    as_of: date
    read: Decimal = Field(ge=0)
    write: Decimal = Field(ge=0)


class Settings(BaseSettings):
    """Settings of the service, from variables KEYFENCE_NAME; see `docs/reference/configuration.md`."""

    model_config = SettingsConfigDict(
        env_prefix="KEYFENCE_", frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    table: str = "keyfence"
    """The DynamoDB table."""
    region: str | None = None
    """The AWS region. Required if AWS's own configuration names none."""
    endpoint_url: str | None = None
    """A DynamoDB endpoint other than the region's."""
    role_arn_prefix: str | None = None
    """Required. The first part of all role ARNs, such as `arn:aws:iam::123456789012:role/keyfence-`."""
    session_seconds: int = Field(default=900, ge=900, le=3600)
    """How long a tenant's session is valid. It is renewed when about half of the time is over. STS limits a
    session to one hour if the credentials of the process come from a role too."""
    max_sessions: int = Field(default=10_000, ge=1)
    """How many sessions of tenants one process caches. The least recently used session is dropped first."""
    sts_endpoint_url: str | None = None
    """An STS endpoint other than the region's."""
    iam_endpoint_url: str | None = None
    """An IAM endpoint other than the partition's."""
    sts_calls_per_second: float = Field(default=50.0, gt=0)
    """How often one process may call STS. All processes share the account's quota."""
    issuers: Annotated[tuple[IssuerSettings, ...], NoDecode] = ()
    """Required, unless all tenants bring their own issuer. A JSON list of identity providers, such as
    `[{"issuer": "https://id.example.com"}]`. The keys are those that the issuer's metadata name; `jwks_uri` gives
    another URL of the keys, and `jwks` gives the keys themselves. `tenant` limits an issuer to one tenant. `audiences`,
    `claims`, `roles`, `tenants` and `default_role` say how to read its tokens; see `docs/build/identity.md`."""
    admin_issuers: Annotated[tuple[IssuerSettings, ...], NoDecode] = ()
    """The identity providers of operators, in the same format. Without one, nobody can use the operators' API."""
    audience: str = "keyfence"
    """The `aud` claim of tenants' tokens."""
    admin_audience: str = "keyfence-admin"
    """The `aud` claim of operators' tokens. It has to differ from that of tenants' tokens."""
    cursor_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """Required. Keys of pagination cursors, separated by commas, each 32 bytes in URL-safe base64. The first key
    encrypts; all keys decrypt, so put a new key first and remove the old one a week later."""
    index_key: SecretStr | None = None
    """Required, for commands too. The secret part of index keys is computed with this key. It has 32 bytes in URL-safe
    base64. With another key, lists do not find the stored items until `keyfence rekey` has corrected their keys."""

    domains: Annotated[tuple[str, ...], NoDecode] = ()
    """Changes to the built-in domains, separated by commas. `package.module:NAME` adds the `keyfence.domain.Domain` of
    that name; `-name` leaves out a built-in one. A domain that others need can only be left out together with them:
    `-customers,-orders` leaves out both."""

    exports: Path | None = None
    """The directory where `keyfence tenant offboard` writes a tenant's export and certificate."""
    signing_key: SecretStr | None = None
    """The Ed25519 key that signs certificates of offboarding, as PEM or as 32 bytes in URL-safe base64."""
    migration_units_per_second: float = Field(default=1000.0, ge=1)
    """How many capacity units a job may use in a second."""

    tenant_cache_seconds: float = Field(default=TENANT_CACHE_SECONDS, gt=0, le=60)
    """How old a process's cached copy of a tenant, or of the issuer that a tenant owns, may be."""
    tenant_use_seconds: float = Field(default=TENANT_USE_SECONDS, gt=0, le=60)
    """How long a request may use a cached tenant after the copy has become too old for new requests."""
    issuer_lookups_per_second: float = Field(default=100.0, gt=0)
    """How often one process may look up an unknown issuer, or fetch keys for an unknown `kid`."""

    revocation_seconds: float = Field(default=1.0, ge=0, le=300)
    """How long a process caches that a token is not revoked. Queries use the cache, mutations do not. With 0, every
    request checks its token."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on."""
    workers: int = Field(default=1, ge=1)
    """The number of processes. Each has its own caches and its own `/metrics`."""
    shutdown_seconds: int = Field(default=20, ge=1)
    """How long running requests may take to finish when the server stops."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks of proxies whose `X-Forwarded-*` headers are used, separated by commas."""
    max_connections: int = Field(default=10_000, ge=1)
    """How many connections of clients one process accepts. Further connections are closed immediately."""
    max_connections_per_peer: int = Field(default=1_000, ge=1)
    """How many connections one process accepts from one address. Trusted proxies have no such limit."""
    origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins of web pages that may call the tenants' API, separated by commas, such as `https://app.example.com`."""
    admin_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins of web pages that may call the operators' API."""
    tenant_origins: bool = False
    """Whether operators can allow origins for single tenants, with `keyfence tenant origins`."""
    data_connections: int = Field(default=32, ge=1, le=512)
    """How many DynamoDB calls one process makes at the same time, each on its own connection."""
    servers: int | None = Field(default=None, ge=1)
    """How many processes serve the table, on all machines together. Each process allows its share of every quota.
    Default: the number of workers."""
    usage_seconds: float = Field(default=10.0, gt=0)
    """How often a process writes the usage of tenants. A crash loses at most the usage of this time."""
    traffic_seconds: float = Field(default=10.0, gt=0, le=30)
    """How often a process publishes its hot partitions and reads those of the other processes."""
    autopilot: Literal["off", "dry-run", "on"] = "dry-run"
    """Whether collections get more shards without an operator. `dry-run` only writes an event
    to the tenant's list of events."""
    prices: Annotated[PriceSettings | None, NoDecode] = None
    """Prices in US dollars for a million capacity units, as JSON:
    `{"region": "us-east-1", "as_of": "2024-11-01", "read": 0.125, "write": 0.625}`. Default: prices of us-east-1."""
    connect_timeout_seconds: float = Field(default=1.0, gt=0)
    """How long connecting to DynamoDB may take."""
    read_timeout_seconds: float = Field(default=3.0, gt=0)
    """How long a DynamoDB call may wait for an answer before it fails."""
    introspection: bool = False
    """Whether every caller may use GraphQL introspection. Otherwise the token needs the scope `introspect`."""
    graphiql: bool = False
    """Whether browsers that open `/graphql` get GraphiQL."""
    log_json: bool = True
    """Whether log lines are JSON objects. Otherwise they are colored text."""

    @field_validator("issuers", "admin_issuers", "prices", mode="before")
    @classmethod
    def _parse_json(cls, value: object) -> object:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except json.JSONDecodeError as error:
            raise ValueError(f"is not JSON: {error}") from None

    @field_validator("cursor_keys", "domains", "trusted_proxies", "origins", "admin_origins", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @property
    def tenant_audiences(self) -> frozenset[str]:
        """All audiences of tokens for the tenants' API, except those of tenants' own issuers."""
        return frozenset({self.audience}.union(*(issuer.audiences for issuer in self.issuers)))

    @property
    def operator_audiences(self) -> frozenset[str]:
        """All audiences of tokens for the operators' API."""
        return frozenset({self.admin_audience}.union(*(issuer.audiences for issuer in self.admin_issuers)))

    @property
    def server_count(self) -> int:
        return self.servers or self.workers

    @property
    def settle_seconds(self) -> float:
        """How long a server may still act on the old state after a tenant was changed.

        A job waits this long between two steps. So when the second step starts, every server acts on the state after
        the first step. The time is computed and cannot be set, so that it is never too short. It is the sum of the age
        of a cached tenant, the time that a request may use it, and one call to DynamoDB that starts at the last
        moment."""
        return (
            self.tenant_cache_seconds
            + self.tenant_use_seconds
            + self.connect_timeout_seconds
            + self.read_timeout_seconds
        )

    @property
    def allow_development_keys(self) -> bool:
        """Whether issuers may have keys that `keyfence jwks` made. On AWS, where `role_arn_prefix` is set, they may
        not."""
        return self.role_arn_prefix is None

    @property
    def cursor_secrets(self) -> tuple[bytes, ...]:
        """The cursor keys as bytes, without the prefix that marks a development key."""
        return tuple(_secret_bytes(key) for key in self.cursor_keys)

    @property
    def index_secret(self) -> bytes:
        """The index key as bytes, without the prefix that marks a development key. Raises BadSettings if it is not
        set."""
        if self.index_key is None:
            raise BadSettings(("KEYFENCE_INDEX_KEY is missing",))
        return _secret_bytes(self.index_key)


def load_settings(**overrides: Any) -> Settings:
    """Returns the settings of the environment, with these overrides. Raises BadSettings if a value cannot be read."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise BadSettings(messages_without_values(error)) from None


def messages_without_values(error: ValidationError) -> tuple[str, ...]:
    """Returns pydantic's message for each value that cannot be read. The values are left out: they may be secrets."""
    return tuple(f"{_variable_name(details['loc'])}: {details['msg']}" for details in error.errors())


def _variable_name(location: tuple[int | str, ...]) -> str:
    name, *path = location
    return f"KEYFENCE_{str(name).upper()}" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


def _secret_bytes(key: SecretStr) -> bytes:
    return decode_key(key.get_secret_value().removeprefix(DEVELOPMENT_KEY_PREFIX))


def decode_key(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
