"""Settings of the service, read from KEYFENCE_* variables."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic import field_validator


class IssuerSettings(BaseModel):
    """An identity provider whose tokens are accepted: for one tenant, or for any when `tenant` is left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    jwks_uri: str | None = None
    jwks: dict[str, object] | None = None
    tenant: str | None = None


class Settings(BaseSettings):
    """Everything the service can be told from outside."""

    model_config = SettingsConfigDict(env_prefix="KEYFENCE_", frozen=True, extra="ignore")

    table: str = "keyfence"
    region: str | None = None
    endpoint_url: str | None = None
    issuers: tuple[IssuerSettings, ...] = ()
    admin_issuers: tuple[IssuerSettings, ...] = ()
    audience: str = "keyfence"
    admin_audience: str = "keyfence-admin"
    cursor_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """Newest first, each 32 bytes in URL-safe base64: the first seals, all open."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    workers: int = Field(default=1, ge=1)
    shutdown_seconds: int = Field(default=20, ge=1)
    data_threads: int = Field(default=32, ge=1, le=512)
    """Concurrent DynamoDB calls of one process: threads and pooled connections alike."""
    connect_timeout: float = 1.0
    read_timeout: float = 3.0
    introspection: bool = False
    """True opens introspection to everyone (development); otherwise the token needs the scope `introspect`."""
    graphiql: bool = False
    log_json: bool = True

    @field_validator("cursor_keys", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
