"""Applicants for tenancy, and requests of the operators' API."""

import itertools
from dataclasses import dataclass
from typing import Any

from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ApiClient, ServiceStack

ONBOARD = """mutation($input: OnboardTenantInput!) { onboardTenant(input: $input) {
  created owner tenant { id name status tier placement issuer version createdAt } } }"""
TENANT = "query($id: ID!) { tenant(id: $id) { id name status tier version reason } }"
EVENTS = "query($id: ID!) { tenant(id: $id) { events(first: 50) { edges { node { kind by detail } } } } }"
SUSPEND = 'mutation($id: ID!, $reason: String! = "unpaid") { suspendTenant(id: $id, reason: $reason) { status } }'
RESUME = "mutation($id: ID!) { resumeTenant(id: $id) { status } }"

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantApplicant:
    """An organization with its own identity provider that is not yet a tenant."""

    id: str
    provider: TenantIdentityProvider

    @classmethod
    def named(cls, id: str | None = None) -> "TenantApplicant":
        name = id or f"newcomer-{next(_numbers)}"
        return cls(id=name, provider=TenantIdentityProvider(issuer=f"https://id.{name}.example"))

    def application(self, **changes: Any) -> dict[str, Any]:
        given = {
            "id": self.id,
            "name": self.id.title(),
            "tier": "PREMIUM",
            "ownerEmail": f"owner@{self.id}.example",
            "ownerName": "First Owner",
            "issuer": self.provider.issuer,
            "jwks": self.provider.jwks(),
        }
        return {**given, **changes}

    async def onboard(self, stack: ServiceStack, **changes: Any) -> dict[str, Any]:
        answer = await stack.operator_client().data(ONBOARD, input=self.application(**changes))
        onboarded: dict[str, Any] = answer["onboardTenant"]
        return onboarded

    def session(self, stack: ServiceStack, *, claiming: str | None = None, user: str = "somebody") -> ApiClient:
        tenant = claiming or self.id
        return ApiClient(stack.application, self.provider.token(tenant=tenant, user=user), parse_tenant_id(tenant))


async def event_kinds(stack: ServiceStack, id: str) -> list[str]:
    """Returns the kinds of a tenant's events, oldest first."""
    answer = await stack.operator_client().data(EVENTS, id=id)
    return [edge["node"]["kind"] for edge in reversed(answer["tenant"]["events"]["edges"])]
