"""Callers see the message and code of an expected error. Only the log has the text of an internal error."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from keyfence.graphql.error_masking import RenderedError
from keyfence.graphql.executor import GraphQLExecutor, GraphQLRequest
from tests.service.graphql.bookshop_schema import SECRET, bookshop

executor = GraphQLExecutor(bookshop)


async def errors(query: str, **variables: object) -> tuple[RenderedError, ...]:
    prepared = executor.prepare(GraphQLRequest(query=query, variables=variables))
    return (await executor.execute(prepared, None, request_id="r-1")).errors


@pytest.mark.parametrize(
    ("how", "message", "extensions"),
    [
        ("not found", "no such book", {"code": "NOT_FOUND"}),
        ("conflict", "the book is lent", {"code": "CONFLICT", "version": 3}),
        ("forbidden", "not for you", {"code": "FORBIDDEN"}),
        ("throttled", "come again", {"code": "THROTTLED", "retryAfterMs": 50}),
    ],
)
async def test_an_expected_error_has_code_and_location(how: str, message: str, extensions: dict[str, Any]) -> None:
    assert await errors("query ($how: String!) { x: maybeFail(how: $how) }", how=how) == (
        {"message": message, "extensions": extensions, "path": ["x"], "locations": [{"line": 1, "column": 25}]},
    )


@pytest.mark.parametrize("how", ["internal", "unexpected"])
async def test_an_internal_error_is_masked_and_logged_with_its_traceback(how: str) -> None:
    with capture_logs() as logs:
        (error,) = await errors("query ($how: String!) { maybeFail(how: $how) }", how=how)
    assert error["message"] == "internal error"
    assert error["extensions"] == {"code": "INTERNAL", "requestId": "r-1"}
    assert SECRET not in str(error)
    (line,) = logs
    assert line["request_id"] == "r-1"
    assert line["path"] == ["maybeFail"]
    assert SECRET in str(line["exc_info"])
    assert line["exc_info"].__traceback__


async def test_no_other_logger_is_used(caplog: pytest.LogCaptureFixture) -> None:
    with capture_logs():
        await errors('{ maybeFail(how: "unexpected") }')
        await errors('{ maybeFail(how: "not found") }')
    assert not caplog.records


async def test_a_value_that_cannot_be_serialized_is_an_internal_error() -> None:
    with capture_logs():
        (error,) = await errors("{ big }")
    assert error["extensions"] == {"code": "INTERNAL", "requestId": "r-1"}


async def test_an_expected_error_is_not_logged_as_internal() -> None:
    with capture_logs() as logs:
        await errors('{ maybeFail(how: "not found") }')
    assert not logs
