"""The page of `keyfence dev` offers tenants and users, and gets a token for the chosen one."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.local.sign_in import SignIn
from tests.stack import ApiClient, ServiceStack

OWN = "http://127.0.0.1:8000"


async def send(stack: ServiceStack, method: str, path: str, *, url: str = OWN, **options: Any) -> httpx2.Response:
    app = Starlette(routes=[*SignIn(stack.issuer, stack.tables).routes()])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=url) as http:
        return await http.request(method, f"/sign-in{path}", **options)


async def token_response(stack: ServiceStack, choice: Any, *, url: str = OWN, **headers: str) -> httpx2.Response:
    return await send(stack, "POST", "/token", url=url, json=choice, headers=headers)


async def test_tenants_and_the_users_of_one_tenant_are_listed(stack: ServiceStack, owner: ApiClient) -> None:
    user = await UserRepository(stack.table(owner.tenant)).create(email="a@x.example", name="Ann", role=Role.ADMIN)
    tenants = (await send(stack, "GET", "/tenants")).json()
    assert owner.tenant in {tenant["id"] for tenant in tenants}
    assert (await send(stack, "GET", f"/tenants/{owner.tenant}/users")).json() == [
        {"id": user.id, "name": "Ann", "role": "ADMIN"}
    ]
    missing = await send(stack, "GET", "/tenants/nobody/users")
    assert (missing.status_code, missing.json()["code"]) == (400, "NOT_FOUND")


async def test_the_token_is_accepted_for_the_chosen_tenant_and_role(stack: ServiceStack, owner: ApiClient) -> None:
    choice = {"tenant": owner.tenant, "user": "ann", "role": "VIEWER"}
    token = (await token_response(stack, choice, origin=OWN)).json()["token"]
    viewer = (await replace(owner, token=token).data("{ viewer { subject role tenant { id } } }"))["viewer"]
    assert viewer == {"subject": "ann", "role": "VIEWER", "tenant": {"id": owner.tenant}}


async def test_an_operator_gets_a_token_for_the_operators_api(stack: ServiceStack) -> None:
    token = (await token_response(stack, {"operator": True})).json()["token"]
    operator = replace(stack.operator_client(), token=token)
    assert "edges" in (await operator.data("{ tenants { edges { node { id } } } }"))["tenants"]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        (OWN, "https://evil.example"),
        (OWN, "null"),
        (OWN, "http://127.0.0.1:9000"),
        ("http://evil.example:8000", "http://evil.example:8000"),
        ("http://evil.example:8000", None),
    ],
    ids=["another site", "no site", "another port", "another name for this address", "without an origin"],
)
async def test_a_page_of_another_site_gets_no_token(stack: ServiceStack, url: str, origin: str | None) -> None:
    answer = await token_response(stack, {"operator": True}, url=url, **({"origin": origin} if origin else {}))
    assert (answer.status_code, "token" in answer.json()) == (403, False)


@pytest.mark.parametrize(
    "choice",
    [[], {}, {"tenant": "acme", "user": "", "role": "OWNER"}, {"tenant": "A#", "user": "ann", "role": "OWNER"},
     {"tenant": "acme", "user": "ann", "role": "KING"}, {"tenant": "acme", "user": "ann", "role": ["OWNER"]}],
)  # fmt: skip
async def test_a_choice_that_is_not_complete_gets_no_token(stack: ServiceStack, choice: Any) -> None:
    answer = await token_response(stack, choice)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_USER_INPUT")
