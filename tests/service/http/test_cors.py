"""Web pages of other origins can call an endpoint only if an operator has allowed their origin."""

import pytest

from keyfence.http.cors import CorsPolicy
from keyfence.validation import LOCAL_ORIGINS
from tests.fakes.asgi_client import AsgiResponse, send_request
from tests.service.http.bookshop_endpoint import TOKEN, endpoint

APP = "https://app.example"
OTHER = "https://other.example"
QUERY = b'{"query": "{ __typename }"}'
ALLOW_ORIGIN = "access-control-allow-origin"


async def preflight(policy: CorsPolicy, origin: str | None) -> AsgiResponse:
    headers = [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")]
    headers += [("origin", origin)] if origin else []
    return await send_request(endpoint(cors=policy), b"", method="OPTIONS", headers=headers)


async def call(
    policy: CorsPolicy, origin: str, *, token: str | None = TOKEN, host: str = "api.example"
) -> AsgiResponse:
    headers = [("content-type", "application/json"), ("origin", origin), ("host", host)]
    headers += [("authorization", token)] if token else []
    return await send_request(endpoint(cors=policy), QUERY, method="POST", headers=headers)


async def test_a_preflight_of_an_allowed_origin_names_the_origin_and_can_be_cached() -> None:
    answer = await preflight(CorsPolicy(origins=frozenset({APP})), APP)
    assert answer.status == 204
    assert answer.headers[ALLOW_ORIGIN] == APP
    assert answer.headers["vary"] == "Origin"
    assert answer.headers["access-control-allow-methods"] == "GET, POST"
    assert "authorization" in answer.headers["access-control-allow-headers"].split(", ")
    assert int(answer.headers["access-control-max-age"]) >= 600
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        OTHER,
        "null",
        "http://app.example",
        "https://app.example.evil.example",
        "https://evil-app.example",
        "https://app.example:8443",
        "https://APP.example",
        "https://app.example/",
    ],
)
async def test_a_preflight_of_another_origin_names_no_origin(origin: str) -> None:
    answer = await preflight(CorsPolicy(origins=frozenset({APP})), origin)
    assert ALLOW_ORIGIN not in answer.headers
    assert answer.headers["vary"] == "Origin"


async def test_without_allowed_origins_there_are_no_cors_headers() -> None:
    answer = await preflight(CorsPolicy(), APP)
    assert not [name for name in answer.headers if name.startswith("access-control") or name == "vary"]


async def test_an_options_request_without_an_origin_is_not_a_preflight() -> None:
    assert (await preflight(CorsPolicy(origins=frozenset({APP})), None)).status == 405


async def test_a_page_of_an_allowed_origin_can_read_responses_and_errors() -> None:
    policy = CorsPolicy(origins=frozenset({APP}))
    for token, status in ((TOKEN, 200), (None, 401)):
        answer = await call(policy, APP, token=token)
        assert (answer.status, answer.headers[ALLOW_ORIGIN], answer.headers["vary"]) == (status, APP, "Origin")
        assert "x-request-id" in answer.headers["access-control-expose-headers"]


async def test_a_page_of_another_origin_gets_no_data_and_cannot_read_the_error() -> None:
    answer = await call(CorsPolicy(origins=frozenset({APP})), OTHER)
    assert answer.status == 403
    assert answer.codes() == ["FORBIDDEN"]
    assert "data" not in answer.json()
    assert ALLOW_ORIGIN not in answer.headers


async def test_a_page_of_the_same_host_needs_no_permission() -> None:
    assert (await call(CorsPolicy(), "https://api.example", host="api.example")).status == 200
    assert (await call(CorsPolicy(), "https://api.example", host="api.example.evil.example")).status == 403


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("http://localhost", True),
        ("http://localhost:5173", True),
        ("http://127.0.0.1:3000", True),
        ("http://localhost.evil.example", False),
        ("http://localhost:5173.evil.example", False),
        ("http://127.0.0.10:3000", False),
        ("https://app.example", False),
    ],
)
async def test_in_development_pages_of_this_machine_are_allowed_on_every_port(origin: str, is_allowed: bool) -> None:
    policy = CorsPolicy(origins=frozenset({LOCAL_ORIGINS}))
    assert ((await preflight(policy, origin)).headers.get(ALLOW_ORIGIN) == origin) is is_allowed
    assert ((await call(policy, origin)).status == 200) is is_allowed


async def test_an_origin_of_one_tenant_is_allowed_for_this_tenant_alone() -> None:
    policy = CorsPolicy(tenants_have_origins=True)
    assert (await preflight(policy, "https://ada.example")).headers[ALLOW_ORIGIN] == "https://ada.example"
    assert (await call(policy, "https://ada.example")).status == 200
    for origin, token in (("https://ada.example", "Bearer bob"), (OTHER, TOKEN)):
        answer = await call(policy, origin, token=token)
        assert (answer.status, answer.headers[ALLOW_ORIGIN]) == (403, origin), "the page can read why it is refused"
        assert "data" not in answer.json()
