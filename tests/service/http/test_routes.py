"""The application around the endpoints has request ids, an access log, probes, metrics and masked errors."""

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from keyfence.http.metrics import Metrics
from keyfence.http.routes import NotReady, build_app
from tests.fakes.asgi_client import post, send_request
from tests.service.http.bookshop_endpoint import TOKEN, always_ready, bookshop_app

SECRET = "the password is swordfish"


class FailingEndpoint:
    """An endpoint that raises an exception, before or after the start of its response."""

    def __init__(self, *, after_start: bool) -> None:
        self.after_start = after_start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.after_start:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(SECRET)


async def test_the_response_has_the_callers_own_request_id() -> None:
    response = await post(bookshop_app(), {"query": "{ caller }"}, authorization=TOKEN, x_request_id="trace.0123_ABC-9")
    assert response.headers["x-request-id"] == "trace.0123_ABC-9"
    assert response.json()["data"]["caller"].endswith("trace.0123_ABC-9")


@pytest.mark.parametrize(
    "request_id", ["", "short", "x" * 129, "a b c d e f", "abcdefgh\x1b[31m", "-starts-with-it", "é" * 10]
)
async def test_an_unsafe_request_id_is_replaced(request_id: str) -> None:
    first = await post(bookshop_app(), {"query": "{ caller }"}, authorization=TOKEN, x_request_id=request_id)
    second = await post(bookshop_app(), {"query": "{ caller }"}, authorization=TOKEN)
    ids = {first.headers["x-request-id"], second.headers["x-request-id"]}
    assert len(ids) == 2
    assert request_id not in ids


async def test_an_unexpected_exception_is_masked_and_logged_under_the_request_id() -> None:
    app = build_app(
        endpoints={"/graphql": FailingEndpoint(after_start=False)}, check_ready=always_ready, metrics=Metrics()
    )
    with capture_logs() as logs:
        response = await send_request(app)
    error = {"code": "INTERNAL", "requestId": response.headers["x-request-id"]}
    assert response.status == 500
    assert response.json() == {"errors": [{"message": "internal error", "extensions": error}]}
    assert [line["event"] for line in logs] == ["internal_error", "request"]
    assert SECRET in str(logs[0]["exc_info"])
    assert {line["request_id"] for line in logs} == {error["requestId"]}


async def test_an_exception_after_the_start_of_the_response_is_logged_and_ends_the_connection() -> None:
    app = build_app(
        endpoints={"/graphql": FailingEndpoint(after_start=True)}, check_ready=always_ready, metrics=Metrics()
    )
    with capture_logs() as logs, pytest.raises(RuntimeError):
        await send_request(app)
    assert logs[0]["event"] == "internal_error"


async def test_a_caller_that_disconnects_causes_no_error() -> None:
    with capture_logs() as logs:
        response = await send_request(
            bookshop_app(),
            b'{"query',
            method="POST",
            headers=[("authorization", TOKEN), ("content-type", "application/json")],
            disconnect=True,
        )
    assert response.status == 0
    assert [(line["event"], line["status"]) for line in logs] == [("request", 499)]


async def test_a_request_is_one_log_line_without_the_query() -> None:
    with capture_logs() as logs:
        response = await send_request(
            bookshop_app(), query_string=b"query=%7Bcaller%7D", headers=[("authorization", TOKEN)]
        )
    (line,) = logs
    assert line.pop("ms") >= 0
    assert line == {
        "event": "request",
        "log_level": "info",
        "method": "GET",
        "path": "/graphql",
        "status": 200,
        "request_id": response.headers["x-request-id"],
    }


@pytest.mark.parametrize("path", ["/graphql", "/healthz", "/nowhere"])
async def test_responses_forbid_caching_and_content_type_guessing(path: str) -> None:
    response = await send_request(bookshop_app(), path=path)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/nowhere", "/graphql/", "/graphql/x", "/healthz/", "/Graphql", "//graphql"])
async def test_an_unknown_path_is_not_found(path: str) -> None:
    response = await send_request(bookshop_app(), path=path)
    assert (response.status, response.codes()) == (404, ["NOT_FOUND"])


async def test_a_probe_serves_only_get_and_head() -> None:
    response = await send_request(bookshop_app(), path="/healthz", method="POST")
    assert (response.status, response.codes()) == (405, ["BAD_USER_INPUT"])
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_the_liveness_probe_answers_and_logs_nothing() -> None:
    with capture_logs() as logs:
        assert (await send_request(bookshop_app(), path="/healthz")).status == 200
    assert not logs


async def test_a_server_is_ready_if_its_check_passes() -> None:
    response = await send_request(bookshop_app(), path="/readyz")
    assert (response.status, response.body) == (200, b"ready\n")


async def test_a_server_whose_check_fails_is_not_ready_and_the_reason_is_only_logged() -> None:
    async def check() -> None:
        raise RuntimeError(SECRET)

    with capture_logs() as logs:
        response = await send_request(build_app(endpoints={}, check_ready=check, metrics=Metrics()), path="/readyz")
    assert (response.status, response.body) == (503, b"the readiness check failed\n")
    assert SECRET in str(logs[0]["exc_info"])


async def test_a_server_that_is_not_ready_for_a_known_reason_shows_it_and_logs_nothing() -> None:
    async def check() -> None:
        raise NotReady("STS cannot be reached")

    with capture_logs() as logs:
        response = await send_request(build_app(endpoints={}, check_ready=check, metrics=Metrics()), path="/readyz")
    assert (response.status, response.body) == (503, b"not ready: STS cannot be reached\n")
    assert not logs


async def test_requests_and_errors_are_counted() -> None:
    app = bookshop_app()
    await post(app, {"query": "{ caller }"}, authorization=TOKEN)
    await post(app, {"query": '{ fail(how: "not found") }'}, authorization=TOKEN)
    await post(app, {"query": "{ caller }"})
    await send_request(app, path="/healthz")
    response = await send_request(app, path="/metrics")
    lines = response.body.decode().splitlines()
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'keyfence_http_requests_total{status="200"} 2' in lines
    assert 'keyfence_http_requests_total{status="401"} 1' in lines
    assert 'keyfence_graphql_errors_total{code="NOT_FOUND"} 1' in lines
    assert 'keyfence_graphql_errors_total{code="UNAUTHENTICATED"} 1' in lines
    assert "keyfence_http_request_duration_seconds_count 3" in lines
