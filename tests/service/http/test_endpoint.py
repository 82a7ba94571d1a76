"""The endpoint serves valid requests, and refuses each invalid request with the right status."""

import orjson
import pytest

from keyfence.errors import Internal, KeyfenceError, Throttled
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.response import HttpResponse
from tests.fakes.asgi_client import GRAPHQL, JSON, post, send_request
from tests.service.http.bookshop_endpoint import TOKEN, endpoint

LIST = "query Books { books(first: 2) { edges { node { title } } } }"
ADD = 'mutation { add(book: {title: "x"}) { title } }'


@pytest.fixture
def app() -> GraphQLEndpoint:
    return endpoint()


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
async def test_the_response_to_a_query_has_the_accepted_media_type(app: GraphQLEndpoint, accept: str) -> None:
    response = await post(app, {"query": LIST}, accept, authorization=TOKEN)
    assert response.status == 200
    assert response.headers["content-type"] == f"{accept}; charset=utf-8"
    assert response.headers["content-length"] == str(len(response.body))
    titles = [{"node": {"title": "Volume 0"}}, {"node": {"title": "Volume 1"}}]
    assert response.json() == {"data": {"books": {"edges": titles}}}


async def test_a_query_is_served_by_get(app: GraphQLEndpoint) -> None:
    query = b"query=query(%24v:JSON){same(value:%24v)}&variables=%7B%22v%22:%5B1,%22%C3%A9%22%5D%7D&operationName="
    response = await send_request(app, query_string=query, headers=[("authorization", TOKEN)])
    assert response.json() == {"data": {"same": [1, "é"]}}


async def test_a_mutation_is_not_served_by_get(app: GraphQLEndpoint) -> None:
    query = b"query=mutation{add(book:{title:%22x%22}){title}}"
    response = await send_request(app, query_string=query, headers=[("authorization", TOKEN)])
    assert (response.status, response.headers["allow"], response.codes()) == (405, "POST", ["BAD_USER_INPUT"])


async def test_the_context_gets_the_caller_kind_name_and_request_id(app: GraphQLEndpoint) -> None:
    query = {"query": "query Who { caller }"}
    response = await post(app, query, authorization=TOKEN, x_request_id="0123-abcd")
    assert response.json() == {"data": {"caller": "ada query Who 0123-abcd"}}


async def test_the_context_gets_whether_the_operation_is_a_mutation() -> None:
    are_mutations = []
    app = endpoint(make_context=lambda _, info: are_mutations.append(info.is_mutation))
    for query in (ADD, LIST):
        await post(app, {"query": query}, authorization=TOKEN)
    assert are_mutations == [True, False]


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Basic YTpi", "Bearer a b", "Bearer a, Bearer b"])
async def test_a_caller_without_a_valid_token_is_unauthenticated(
    app: GraphQLEndpoint, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    response = await post(app, {"query": LIST}, **headers)
    assert (response.status, response.codes()) == (401, ["UNAUTHENTICATED"])
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert "data" not in response.json()


async def test_an_unauthenticated_caller_is_refused_before_the_body_is_read(app: GraphQLEndpoint) -> None:
    response = await send_request(app, method="POST", headers=[("content-type", JSON)], disconnect=True)
    assert response.status == 401


@pytest.mark.parametrize(
    ("error", "status", "code"), [(Throttled("later"), 429, "THROTTLED"), (Internal("keys are gone"), 500, "INTERNAL")]
)
async def test_an_error_of_authentication_has_the_status_of_its_code(
    error: KeyfenceError, status: int, code: str
) -> None:
    async def fail(_: str | None) -> str:
        raise error

    response = await post(endpoint(authenticate=fail), {"query": LIST})
    assert (response.status, response.codes()) == (status, [code])
    assert b"keys are gone" not in response.body


async def test_retry_after_is_in_whole_seconds() -> None:
    async def fail(_: str | None) -> str:
        raise Throttled("later", retryAfterMs=1200)

    response = await post(endpoint(authenticate=fail), {"query": LIST})
    assert (response.status, response.headers["retry-after"]) == (429, "2")


async def test_a_refused_context_is_forbidden(app: GraphQLEndpoint) -> None:
    response = await post(app, {"query": LIST}, authorization="Bearer stranger")
    assert (response.status, response.codes()) == (403, ["FORBIDDEN"])


INVALID_REQUESTS = [
    {"query": "{"},
    {"query": "{ nothing }"},
    {"query": "query ($n: Int!) { books(first: $n) { edges { cursor } } }", "variables": {"n": "many"}},
    {"query": "query A { caller } query B { caller }"},
    {"query": "query A { caller }", "operationName": "B"},
    {"query": "{ books(first: 100000) { edges { cursor } } }"},
    {"query": "{ " + "".join(f"a{n}: caller " for n in range(16)) + "}"},
    {"query": "{ caller }".ljust(20_000)},
    {"query": "subscription { caller }"},
]


@pytest.mark.parametrize("body", INVALID_REQUESTS)
async def test_a_request_that_cannot_run_is_400_without_data(app: GraphQLEndpoint, body: dict[str, object]) -> None:
    response = await post(app, body, GRAPHQL, authorization=TOKEN)
    assert (response.status, set(response.codes())) == (400, {"BAD_USER_INPUT"})
    assert "data" not in response.json()


@pytest.mark.parametrize("body", INVALID_REQUESTS)
async def test_a_request_that_cannot_run_is_200_for_callers_that_accept_only_json(
    app: GraphQLEndpoint, body: dict[str, object]
) -> None:
    response = await post(app, body, JSON, authorization=TOKEN)
    assert (response.status, set(response.codes())) == (200, {"BAD_USER_INPUT"})
    assert "data" not in response.json()


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
async def test_a_field_that_fails_is_200_with_data(app: GraphQLEndpoint, accept: str) -> None:
    response = await post(app, {"query": '{ fail(how: "not found") }'}, accept, authorization=TOKEN)
    assert (response.status, response.codes()) == (200, ["NOT_FOUND"])
    assert response.json()["data"] is None


async def test_introspection_needs_permission(app: GraphQLEndpoint) -> None:
    query = {"query": "{ __schema { queryType { name } } }"}
    allowed = await post(app, query, authorization=TOKEN)
    refused = await post(app, query, authorization="Bearer bob")
    assert allowed.json() == {"data": {"__schema": {"queryType": {"name": "Query"}}}}
    assert (refused.status, refused.codes()) == (400, ["FORBIDDEN"])


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
async def test_other_methods_are_not_allowed(app: GraphQLEndpoint, method: str) -> None:
    response = await send_request(app, method=method, headers=[("authorization", TOKEN)])
    assert (response.status, response.headers["allow"]) == (405, "GET, POST")


async def test_a_caller_that_accepts_neither_type_gets_406(app: GraphQLEndpoint) -> None:
    response = await post(app, {"query": LIST}, "image/png", authorization=TOKEN)
    assert (response.status, response.codes()) == (406, ["BAD_USER_INPUT"])
    assert response.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=utf-16", "multipart/form-data"])
async def test_a_body_that_is_not_json_is_not_read(app: GraphQLEndpoint, content_type: str) -> None:
    response = await post(app, {"query": LIST}, authorization=TOKEN, content_type=content_type)
    assert (response.status, response.codes()) == (415, ["BAD_USER_INPUT"])


async def test_an_integer_longer_than_64_bits_is_answered_exactly(app: GraphQLEndpoint) -> None:
    response = await post(app, {"query": "{ same(value: {n: 123456789012345678901234567890}) }"}, authorization=TOKEN)
    assert b"123456789012345678901234567890" in response.body


async def test_text_of_all_unicode_planes_is_returned_unchanged(app: GraphQLEndpoint) -> None:
    text = "é\u2028\U0001f3c3\x00"
    body = {"query": "query ($v: JSON) { same(value: $v) }", "variables": {"v": text}}
    assert (await post(app, body, authorization=TOKEN)).json() == {"data": {"same": text}}


async def test_browsers_get_the_page_and_other_callers_the_api() -> None:
    app = endpoint(graphiql=HttpResponse(body=b"<html>", content_type="text/html; charset=utf-8"))
    browser = await send_request(app, headers=[("accept", "text/html,*/*;q=0.8")])
    client = await send_request(app, headers=[("accept", "*/*")])
    assert (browser.status, browser.body, browser.headers["content-type"]) == (
        200,
        b"<html>",
        "text/html; charset=utf-8",
    )
    assert client.status == 401


async def test_without_a_page_a_browser_gets_json(app: GraphQLEndpoint) -> None:
    response = await send_request(app, headers=[("accept", "text/html,*/*;q=0.8"), ("authorization", TOKEN)])
    assert (response.status, response.codes()) == (400, ["BAD_USER_INPUT"])


async def test_extensions_and_unknown_parameters_are_accepted(app: GraphQLEndpoint) -> None:
    body = {"query": LIST, "extensions": {"a": 1}, "unknown": orjson.dumps("x").decode()}
    assert (await post(app, body, authorization=TOKEN)).status == 200
