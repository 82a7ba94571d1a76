"""A request is admitted before anything is read for it, and a refusal is cheap."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope
from structlog.testing import capture_logs

from keyfence.errors import Throttled
from keyfence.graphql.document_cache import VALIDATION_STEPS
from keyfence.graphql.executor import RequestInfo
from tests.fakes.asgi_client import AsgiResponse, post, send_request
from tests.service.http.bookshop_endpoint import TOKEN, BookshopApi, bookshop_app, endpoint

LIST = "{ books(first: 1) { edges { node { title } } } }"
ADD = 'mutation { add(book: {title: "x"}) { title } }'


@dataclass
class RecordingApi:
    """An API that records the steps of a request in order."""

    steps: list[str] = field(default_factory=list)
    refusal: Throttled | None = None

    @asynccontextmanager
    async def admit(self, _: str, info: RequestInfo | None) -> AsyncIterator[None]:
        if self.refusal:
            raise self.refusal
        self.steps.append(f"admit {info.root_field if info else None}")
        yield
        self.steps.append("end")

    async def check_revocation(self, _: str, *, may_write: bool) -> None:
        self.steps.append("check revocation")

    def make_context(self, caller: str, info: RequestInfo) -> str:
        self.steps.append("execute")
        return BookshopApi().make_context(caller, info)

    async def send(self, query: str, **body: Any) -> AsgiResponse:
        app = endpoint(
            admit=self.admit,
            check_revocation=self.check_revocation,
            make_context=self.make_context,
            cost=lambda who: {"of": who},
        )
        return await post(app, {"query": query, **body}, authorization=TOKEN)


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        (LIST, ["admit books", "execute", "check revocation", "end"]),
        (ADD, ["admit add", "check revocation", "execute", "end"]),
        (
            "query Q { b: books(first: 1) { __typename } __typename }",
            ["admit books", "execute", "check revocation", "end"],
        ),
        (
            "{ books(first: 1) { __typename } book(id: 1) { title } }",
            ["admit None", "execute", "check revocation", "end"],
        ),
        ("{ __typename }", ["admit __typename", "execute", "check revocation", "end"]),
        ("{", ["admit None", "check revocation", "end"]),
        ("{ nothing }", ["admit None", "check revocation", "end"]),
    ],
)
async def test_a_request_is_admitted_before_its_checks_and_its_execution(query: str, steps: list[str]) -> None:
    api = RecordingApi()
    await api.send(query)
    assert api.steps == steps


@pytest.mark.parametrize("query", [LIST, ADD, "{", "{ nothing }"])
async def test_a_request_that_is_not_admitted_runs_nothing_and_is_told_when_to_retry(query: str) -> None:
    api = RecordingApi(refusal=Throttled("too fast", retryAfterMs=1_200, quota="x"))
    response = await api.send(query)
    assert (response.status, response.headers["retry-after"], api.steps) == (429, "2", [])
    assert response.json()["errors"][0]["extensions"] == {"code": "THROTTLED", "retryAfterMs": 1_200, "quota": "x"}


async def test_the_body_of_a_request_that_is_refused_is_not_read() -> None:
    async def refuse(_: str | None) -> str:
        raise Throttled("too fast", retryAfterMs=1)

    app, messages = endpoint(authenticate=refuse), []

    async def receive() -> Message:
        raise AssertionError("the body must not be read")

    async def send(message: Message) -> None:
        messages.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"100000")],
    }
    receive_body: Receive = receive
    await app(scope, receive_body, send)
    assert messages[0]["status"] == 429


async def test_throttled_requests_are_counted_but_not_logged_one_by_one() -> None:
    async def refuse(_: str | None) -> str:
        raise Throttled("too fast", retryAfterMs=1)

    with capture_logs() as lines:
        app = bookshop_app(authenticate=refuse)
        assert (await post(app, {"query": LIST}, authorization=TOKEN)).status == 429
        assert [line["event"] for line in lines] == []
        assert (await post(bookshop_app(), {"query": LIST}, authorization=TOKEN)).status == 200
    assert [line["event"] for line in lines] == ["request"]
    from tests.fakes.asgi_client import send_request

    assert b'keyfence_http_requests_total{status="429"} 1' in (await send_request(app, path="/metrics")).body


@pytest.mark.parametrize("query", [LIST, ADD, "{ book(id: 77) { title } }"])
async def test_the_cost_is_returned_on_request_also_beside_errors(query: str) -> None:
    response = await RecordingApi().send(query, extensions={"cost": True})
    assert response.json()["extensions"] == {"cost": {"of": "ada"}}
    assert "extensions" not in (await RecordingApi().send(query)).json()


async def test_an_api_without_cost_returns_no_extension() -> None:
    response = await post(endpoint(), {"query": LIST, "extensions": {"cost": True}}, authorization=TOKEN)
    assert "extensions" not in response.json()


@pytest.mark.parametrize(
    "body",
    [b'{"query": "{ books(first: 1) { __typename } }"}', b'{"query": "{ nothing }"}', b"[]", b"{"],
    ids=["valid", "not in the schema", "a batch", "no JSON"],
)
async def test_the_cpu_time_of_every_body_is_charged_to_the_caller(body: bytes) -> None:
    charged: list[str] = []
    app = endpoint(charge_cpu=lambda caller, seconds: charged.append(caller) if seconds > 0 else None)
    headers = [("content-type", "application/json"), ("authorization", TOKEN)]
    await send_request(app, body, method="POST", headers=headers)
    assert set(charged) == {"ada"}


async def test_a_new_document_is_read_in_steps_between_which_others_run_and_a_known_one_is_not() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def admit_new_document(caller: str) -> AsyncIterator[None]:
        events.append(f"{caller} begins")
        yield
        events.append(f"{caller} ends")

    async def yield_to_others(_caller: str) -> None:
        events.append("others run")

    app = endpoint(admit_new_document=admit_new_document, yield_to_others=yield_to_others)
    for _ in range(2):
        assert (await post(app, {"query": LIST}, authorization=TOKEN)).status == 200
    parsing_checking_and_validation = 2 + len(VALIDATION_STEPS)
    assert events == ["ada begins", *["others run"] * (parsing_checking_and_validation + 1), "ada ends"]


async def test_a_refused_new_document_is_not_read() -> None:
    def refuse(_caller: str) -> AbstractAsyncContextManager[None]:
        raise Throttled("too many", retryAfterMs=1)

    app = endpoint(admit_new_document=refuse)
    assert (await post(app, {"query": LIST}, authorization=TOKEN)).status == 429
    assert (await post(app, {"query": "{"}, authorization=TOKEN)).status == 429


async def test_variables_with_too_many_values_are_bad_input() -> None:
    query = "query ($id: ID!) { book(id: $id) { title } }"
    response = await RecordingApi().send(query, variables={"id": 1, "unused": [1] * 2_000})
    assert response.json()["errors"][0]["extensions"] == {
        "code": "BAD_USER_INPUT",
        "limit": "variables",
        "maximum": 2_000,
    }
