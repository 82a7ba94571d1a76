"""The sign-in of `keyfence dev`: lists tenants and users for GraphiQL, and issues tokens of the development issuer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keyfence.auth.principal import INTROSPECT_SCOPE, Role
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import BadInput, KeyfenceError
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store.table_handles import Tables
from keyfence.tenancy.repository import TenantRepository, parse_tenant_id
from keyfence.tenancy.tenant_cache import location_of
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.validation import is_loopback_host

SIGN_IN_PATH = "/sign-in"
MAX_LISTED = 100
"""How many tenants, and how many users of a tenant, the page offers. The newest ones come first."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """Issues a token to everybody who can send a request to this machine. Only `keyfence dev` has these routes."""

    issuer: DevelopmentIssuer
    tables: Tables

    def routes(self) -> Iterator[Route]:
        yield Route(f"{SIGN_IN_PATH}/tenants", self._list_tenants, methods=["GET"])
        yield Route(f"{SIGN_IN_PATH}/tenants/{{id}}/users", self._list_users, methods=["GET"])
        yield Route(f"{SIGN_IN_PATH}/token", self._issue_token, methods=["POST"])

    async def _list_tenants(self, _: Request) -> Response:
        page = await self._tenants().newest(status=TenantStatus.ACTIVE, first=MAX_LISTED, after=None)
        return JSONResponse([{"id": tenant.id, "name": tenant.name} for tenant in page.items])

    async def _list_users(self, request: Request) -> Response:
        try:
            tenant = await self._tenants().get(parse_tenant_id(request.path_params["id"]))
            table = self.tables.for_tenant(location_of(tenant), may_write=False)
            page = await UserRepository(table).newest(first=MAX_LISTED, after=None)
        except KeyfenceError as error:
            return _error(error)
        return JSONResponse([{"id": user.id, "name": user.name, "role": user.role} for user in page.items])

    async def _issue_token(self, request: Request) -> Response:
        """Answers only pages of this server. Otherwise any web page that a developer opens could get a token."""
        if not _is_own_page(request):
            return JSONResponse({"error": "only pages of this server can sign in"}, status_code=403)
        try:
            return JSONResponse({"token": self._token(_parse(await request.body()))})
        except KeyfenceError as error:
            return _error(error)

    def _token(self, choice: dict[str, Any]) -> str:
        if choice.get("operator") is True:
            return self.issuer.admin_token()
        user, role = choice.get("user"), choice.get("role")
        if not isinstance(user, str) or not 0 < len(user) <= 200:
            raise BadInput("user must be the id of a user", field="user")
        if not isinstance(role, str) or role not in set(Role):
            raise BadInput(f"role must be one of {', '.join(Role)}", field="role")
        tenant = parse_tenant_id(str(choice.get("tenant")), "tenant")
        return self.issuer.token(tenant=tenant, user=user, role=Role(role), scopes=(INTROSPECT_SCOPE,))

    def _tenants(self) -> TenantRepository:
        return TenantRepository(self.tables.for_control_plane(may_write=False), "")


def _is_own_page(request: Request) -> bool:
    """Whether the request comes from a page of this server, at a loopback address. A page of another site can point its
    own host name at this address: then Origin and Host agree, but the host is not a loopback host."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    is_local = is_loopback_host(host.rpartition(":")[0] or host)
    return is_local and (origin is None or origin.partition("://")[2] == host)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        choice = orjson.loads(body)
    except orjson.JSONDecodeError:
        choice = None
    if not isinstance(choice, dict):
        raise BadInput('the body must be JSON like {"tenant": "acme", "user": "usr_...", "role": "OWNER"}')
    return choice


def _error(error: KeyfenceError) -> Response:
    return JSONResponse({"error": error.message, "code": error.code}, status_code=400)
