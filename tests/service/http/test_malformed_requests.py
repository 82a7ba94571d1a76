"""Malformed bodies and query strings are bad requests and never internal errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.asgi_client import GRAPHQL, JSON, AsgiResponse, post, send_request
from tests.service.http.bookshop_endpoint import TOKEN, endpoint

app = endpoint(max_body_bytes=200_000)

MALFORMED_BODIES = {
    "nothing": b"",
    "null": b"null",
    "number": b"1",
    "string": b'"x"',
    "true": b"true",
    "NaN": b"NaN",
    "Infinity": b'{"query": "{ caller }", "variables": {"v": Infinity}}',
    "batch": b'[{"query": "{ caller }"}]',
    "empty batch": b"[]",
    "empty object": b"{}",
    "cut off": b'{"query": "{ call',
    "two bodies": b'{"query": "{ caller }"}{"query": "{ caller }"}',
    "single quotes": b"{'query': '{ caller }'}",
    "trailing comma": b'{"query": "{ caller }",}',
    "deep list": b"[" * 100_000,
    "deep and closed": b"[" * 50_000 + b"]" * 50_000,
    "deep object": b'{"query":' * 20_000,
    "deep variables": b'{"query": "{ caller }", "variables": {"v": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
    "invalid UTF-8": b'{"query": "{ caller \xff }"}',
    "overlong UTF-8": b'{"query": "\xc0\xae"}',
    "surrogate in UTF-8": b'{"query": "\xed\xa0\x80"}',
    "escaped half surrogate": b'{"query": "{ caller }", "variables": {"v": "\\ud800"}}',
    "UTF-16": '{"query": "{ caller }"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"query": "{ caller }"}',
    "form": b"query=%7Bcaller%7D",
    "graphql": b"{ caller }",
    "NUL": b"\x00",
    "query null": b'{"query": null}',
    "query empty": b'{"query": ""}',
    "query number": b'{"query": 1}',
    "query list": b'{"query": ["{ caller }"]}',
    "query object": b'{"query": {"a": 1}}',
    "variables string": b'{"query": "{ caller }", "variables": "{}"}',
    "variables list": b'{"query": "{ caller }", "variables": []}',
    "variables number": b'{"query": "{ caller }", "variables": 0}',
    "variables false": b'{"query": "{ caller }", "variables": false}',
    "operationName number": b'{"query": "{ caller }", "operationName": 1}',
    "operationName list": b'{"query": "{ caller }", "operationName": []}',
    "operationName false": b'{"query": "{ caller }", "operationName": false}',
    "extensions string": b'{"query": "{ caller }", "extensions": "x"}',
    "extensions list": b'{"query": "{ caller }", "extensions": [1]}',
    "extensions number": b'{"query": "{ caller }", "extensions": 0}',
    "upper-case key": b'{"QUERY": "{ caller }"}',
}


def is_bad_request(response: AsgiResponse, status: int = 400) -> bool:
    return response.status == status and response.codes() == ["BAD_USER_INPUT"] and "data" not in response.json()


@pytest.mark.parametrize("accept", [GRAPHQL, JSON, None])
async def test_a_malformed_body_is_a_bad_request(accept: str | None) -> None:
    bodies_not_refused = [
        name
        for name, body in MALFORMED_BODIES.items()
        if not is_bad_request(await post(app, body, accept, authorization=TOKEN))
    ]
    assert bodies_not_refused == []


async def test_the_last_of_two_equal_keys_counts() -> None:
    response = await post(app, b'{"query": "{ nothing }", "query": "{ __typename }"}', authorization=TOKEN)
    assert response.json() == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    "query_string",
    [
        b"",
        b"query",
        b"query=",
        b"query=%7Bcaller%7D&query=%7Bcaller%7D",
        b"query=%ff",
        b"\xff=1",
        b"query=%7Bcaller%7D&variables=x",
        b"query=%7Bcaller%7D&variables=[]",
        b"query=%7Bcaller%7D&variables=1",
        b"query=%7Bcaller%7D&variables=%22x%22",
        b"query=%7Bcaller%7D&extensions=x",
        b"query=%7Bcaller%7D&variables=" + b"[" * 50_000,
        b"&".join(b"a%d=1" % number for number in range(1000)) + b"&query=%7Bcaller%7D",
        b"Query=%7Bcaller%7D",
    ],
)
async def test_a_malformed_query_string_is_a_bad_request(query_string: bytes) -> None:
    assert is_bad_request(await send_request(app, query_string=query_string, headers=[("authorization", TOKEN)]))


HEADERS = [("authorization", TOKEN), ("content-type", JSON)]


async def test_a_body_with_a_content_length_above_the_limit_is_not_read() -> None:
    headers = [*HEADERS, ("content-length", "200001")]
    assert is_bad_request(await send_request(app, method="POST", headers=headers, disconnect=True), 413)


async def test_a_body_above_the_limit_is_not_read_to_its_end() -> None:
    headers = [*HEADERS, ("content-length", "10")]
    assert is_bad_request(
        await send_request(app, *[b"x" * 50_000] * 5, method="POST", headers=headers, disconnect=True), 413
    )


async def test_a_body_of_exactly_the_limit_is_read_in_any_pieces() -> None:
    body = b'{"query": "{ __typename }"}'.ljust(200_000)
    pieces = [body[start : start + 7_000] for start in range(0, len(body), 7_000)]
    assert (await send_request(app, *pieces, method="POST", headers=HEADERS)).status == 200
    assert is_bad_request(await send_request(app, *pieces, b" ", method="POST", headers=HEADERS), 413)


@pytest.mark.parametrize("length", ["-1", "x", "1e9", "٣"])
async def test_a_content_length_that_is_no_number_is_ignored(length: str) -> None:
    headers = [*HEADERS, ("content-length", length.encode().decode("latin-1"))]
    assert (await send_request(app, b'{"query": "{ __typename }"}', method="POST", headers=headers)).status == 200


async def test_a_content_length_of_thousands_of_digits_is_too_large() -> None:
    headers = [*HEADERS, ("content-length", "9" * 4000)]
    assert is_bad_request(await send_request(app, b'{"query": "{ __typename }"}', method="POST", headers=headers), 413)


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "GZIP", "x"])
async def test_a_compressed_body_is_not_read(encoding: str) -> None:
    response = await post(app, b"\x1f\x8b\x08", authorization=TOKEN, content_encoding=encoding)
    assert is_bad_request(response, 415)
    assert response.headers["accept-encoding"] == "identity"


@given(st.binary(max_size=200))
async def test_no_bytes_cause_an_internal_error(body: bytes) -> None:
    assert is_bad_request(await post(app, body, authorization=TOKEN))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "query": json_values
        | st.sampled_from(["{ caller }", "{ same(number: 1) }", "query ($v: Int) { same(number: $v) }"]),
        "variables": json_values | st.dictionaries(st.just("v"), json_values),
        "operationName": json_values,
        "extensions": json_values,
    },
)


@given(parameters | json_values)
async def test_no_json_causes_an_internal_error(body: object) -> None:
    response = await post(app, body, authorization=TOKEN)
    assert response.status in {200, 400}
    if response.status == 400:
        assert set(response.codes()) == {"BAD_USER_INPUT"}
