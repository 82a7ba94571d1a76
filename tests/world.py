"""The service over one engine, and the tenants who talk to it in a test."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import httpx2
from starlette.applications import Starlette

from iam.boundary import TenantId, tenant_id
from iam.credentials import Credentials
from service import app
from service.auth.role import Role
from service.local.issuer import LocalIssuer
from service.settings import IssuerSettings, Settings
from service.store.client import Answer, Client
from service.store.table import Table
from service.store.tables import Tables
from service.tenancy.model import Tenant, Tier
from service.tenancy.registry import Registry

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call as it went out."""

    operation: str
    parameters: Mapping[str, Any]


@dataclass(slots=True)
class Recorder:
    """A client that writes down every call before it makes it."""

    client: Client
    calls: list[Recorded] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self.calls.append(Recorded(operation, parameters))
        return await self.client.call(operation, parameters, credentials)

    def close(self) -> None:
        self.client.close()


class GraphQLFailure(AssertionError):
    """An answer with errors where the test wanted data."""


@dataclass(frozen=True, slots=True)
class Session:
    """One caller with a token, talking to the service over HTTP semantics."""

    application: Starlette
    token: str
    tenant: TenantId

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        transport = httpx2.ASGITransport(self.application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://keyfence.test") as http:
            usual = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            return await http.post("/graphql", content=json.dumps(body), headers={**usual, **headers})

    async def answer(self, query: str, **variables: Any) -> dict[str, Any]:
        answer: dict[str, Any] = (await self.post({"query": query, "variables": variables})).json()
        return answer

    async def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = await self.answer(query, **variables)
        if "errors" in answer:
            raise GraphQLFailure(answer["errors"])
        data: dict[str, Any] = answer["data"]
        return data

    async def refusal(self, query: str, **variables: Any) -> str:
        """The code of the one error that the answer has."""
        answer = await self.answer(query, **variables)
        (error,) = answer["errors"]
        code: str = error["extensions"]["code"]
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The service, its table and its identity provider."""

    application: Starlette
    tables: Tables
    recorder: Recorder
    issuer: LocalIssuer
    settings: Settings

    @classmethod
    def over(cls, url: str, table: str, issuer: LocalIssuer) -> "World":
        settings = Settings(
            table=table,
            region="us-east-1",
            endpoint_url=url,
            issuers=(IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),),
            cursor_keys=("dev-" + "A" * 43,),
        )
        made = app.local_tables(settings)
        recorder = Recorder(made.client)
        tables = replace(made, client=recorder)
        return cls(
            application=app.application(settings, tables),
            tables=tables,
            recorder=recorder,
            issuer=issuer,
            settings=settings,
        )

    async def new_tenant(self, name: str | None = None) -> TenantId:
        tenant = tenant_id(name or f"tenant-{next(_numbers)}")
        now = datetime.now(UTC)
        made = Tenant(id=tenant, name=tenant.title(), tier=Tier.STANDARD, created_at=now, updated_at=now)
        await Registry(self.tables.control(writes=True)).register(made)
        return tenant

    def session(self, tenant: TenantId, role: Role = Role.OWNER, user: str = "somebody", **claims: Any) -> Session:
        token = self.issuer.token(tenant=tenant, user=user, role=role, **claims)
        return Session(self.application, token, tenant)

    def table(self, tenant: TenantId, *, writes: bool = True) -> Table:
        return self.tables.tenant(tenant, writes=writes)

    def calls(self) -> list[Recorded]:
        """What went out since the last time this was asked."""
        seen, self.recorder.calls = self.recorder.calls, []
        return seen
