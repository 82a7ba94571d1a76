"""The application around the endpoints: request ids, logs, probes and the error boundary."""

import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from keyfence.http.metrics import Metrics
from keyfence.http.routes import build_app
from tests.fakes.asgi_client import post, send_request
from tests.service.http.bookshop_endpoint import TOKEN, ready, shop

SECRET = "the password is swordfish"


class Broken:
    """Fails before, or after, it has begun to answer."""

    def __init__(self, *, late: bool) -> None:
        self.late = late

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.late:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(SECRET)


async def test_the_response_has_the_callers_own_request_id() -> None:
    answered = await post(shop(), {"query": "{ caller }"}, authorization=TOKEN, x_request_id="trace.0123_ABC-9")
    assert answered.headers["x-request-id"] == "trace.0123_ABC-9"
    assert answered.json()["data"]["caller"].endswith("trace.0123_ABC-9")


@pytest.mark.parametrize(
    "offered", ["", "short", "x" * 129, "a b c d e f", "abcdefgh\x1b[31m", "-starts-with-it", "é" * 10]
)
async def test_an_unsafe_request_id_is_replaced(offered: str) -> None:
    first = await post(shop(), {"query": "{ caller }"}, authorization=TOKEN, x_request_id=offered)
    second = await post(shop(), {"query": "{ caller }"}, authorization=TOKEN)
    ids = {first.headers["x-request-id"], second.headers["x-request-id"]}
    assert len(ids) == 2
    assert offered not in ids


async def test_an_unexpected_exception_is_masked_and_logged_under_the_request_id() -> None:
    app = build_app(endpoints={"/graphql": Broken(late=False)}, check_ready=ready, metrics=Metrics())
    with capture_logs() as logs:
        answered = await send_request(app)
    error = {"code": "INTERNAL", "requestId": answered.headers["x-request-id"]}
    assert answered.status == 500
    assert answered.json() == {"errors": [{"message": "internal error", "extensions": error}]}
    assert [line["event"] for line in logs] == ["internal_error", "request"]
    assert SECRET in str(logs[0]["exc_info"])
    assert {line["request_id"] for line in logs} == {error["requestId"]}


async def test_an_exception_after_the_start_of_the_response_is_logged_and_ends_the_connection() -> None:
    app = build_app(endpoints={"/graphql": Broken(late=True)}, check_ready=ready, metrics=Metrics())
    with capture_logs() as logs, pytest.raises(RuntimeError):
        await send_request(app)
    assert logs[0]["event"] == "internal_error"


async def test_a_caller_that_disconnects_causes_no_error() -> None:
    with capture_logs() as logs:
        answered = await send_request(
            shop(),
            b'{"query',
            method="POST",
            headers=[("authorization", TOKEN), ("content-type", "application/json")],
            hang_up=True,
        )
    assert answered.status == 0
    assert [(line["event"], line["status"]) for line in logs] == [("request", 499)]


async def test_a_request_is_one_log_line_without_the_query() -> None:
    with capture_logs() as logs:
        answered = await send_request(shop(), query_string=b"query=%7Bcaller%7D", headers=[("authorization", TOKEN)])
    (line,) = logs
    assert line.pop("ms") >= 0
    assert line == {
        "event": "request",
        "log_level": "info",
        "method": "GET",
        "path": "/graphql",
        "status": 200,
        "request_id": answered.headers["x-request-id"],
    }


@pytest.mark.parametrize("path", ["/graphql", "/healthz", "/nowhere"])
async def test_responses_forbid_caching_and_content_type_guessing(path: str) -> None:
    answered = await send_request(shop(), path=path)
    assert answered.headers["cache-control"] == "no-store"
    assert answered.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/nowhere", "/graphql/", "/graphql/x", "/healthz/", "/Graphql", "//graphql"])
async def test_an_unknown_path_is_not_found(path: str) -> None:
    answered = await send_request(shop(), path=path)
    assert (answered.status, answered.codes()) == (404, ["NOT_FOUND"])


async def test_a_probe_serves_only_get_and_head() -> None:
    answered = await send_request(shop(), path="/healthz", method="POST")
    assert (answered.status, answered.codes()) == (405, ["BAD_USER_INPUT"])
    assert set(answered.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_the_liveness_probe_answers_and_logs_nothing() -> None:
    with capture_logs() as logs:
        assert (await send_request(shop(), path="/healthz")).status == 200
    assert not logs


async def test_a_server_is_ready_if_its_check_passes() -> None:
    answered = await send_request(shop(), path="/readyz")
    assert (answered.status, answered.body) == (200, b"ready\n")


async def test_a_server_whose_check_fails_is_not_ready_and_the_reason_is_only_logged() -> None:
    async def check() -> None:
        raise RuntimeError(SECRET)

    with capture_logs() as logs:
        answered = await send_request(build_app(endpoints={}, check_ready=check, metrics=Metrics()), path="/readyz")
    assert (answered.status, answered.body) == (503, b"the readiness check failed\n")
    assert SECRET in str(logs[0]["exc_info"])


async def test_requests_and_errors_are_counted() -> None:
    app = shop()
    await post(app, {"query": "{ caller }"}, authorization=TOKEN)
    await post(app, {"query": '{ fail(how: "not found") }'}, authorization=TOKEN)
    await post(app, {"query": "{ caller }"})
    await send_request(app, path="/healthz")
    answered = await send_request(app, path="/metrics")
    lines = answered.body.decode().splitlines()
    assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'keyfence_http_requests_total{status="200"} 2' in lines
    assert 'keyfence_http_requests_total{status="401"} 1' in lines
    assert 'keyfence_graphql_errors_total{code="NOT_FOUND"} 1' in lines
    assert 'keyfence_graphql_errors_total{code="UNAUTHENTICATED"} 1' in lines
    assert "keyfence_http_request_duration_seconds_count 3" in lines
