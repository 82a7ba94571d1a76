"""The page of GraphiQL sends queries to its own endpoint, and loads nothing from another host."""

import re

import pytest
from starlette.applications import Starlette

from keyfence.http.graphiql import CONTENT_SECURITY_POLICY, graphiql_page, graphiql_routes
from keyfence.http.metrics import Metrics
from keyfence.http.routes import build_app
from tests.fakes.asgi_client import send_request
from tests.service.http.bookshop_endpoint import always_ready, endpoint

HTML = [("accept", "text/html,*/*;q=0.8")]
PATHS = ("/graphql", "/admin/graphql")
LOADED_URL = re.compile(r'(?:src|href)="(?!data:)([^"]*)"')


@pytest.fixture
def app() -> Starlette:
    endpoints = {path: endpoint(graphiql=graphiql_page(path)) for path in PATHS}
    return build_app(endpoints=endpoints, check_ready=always_ready, metrics=Metrics(), more_routes=graphiql_routes())


@pytest.mark.parametrize("path", PATHS)
async def test_the_page_sends_queries_to_the_endpoint_that_serves_it(app: Starlette, path: str) -> None:
    page = (await send_request(app, path=path, headers=HTML)).body.decode()
    assert re.findall(r'data-url="([^"]*)"', page) == [path]


@pytest.mark.parametrize("path", PATHS)
async def test_the_page_has_no_absolute_url_and_no_script_of_its_own(app: Starlette, path: str) -> None:
    page = (await send_request(app, path=path, headers=HTML)).body.decode()
    assert "//" not in page
    assert all(url.startswith("/graphiql/") for url in LOADED_URL.findall(page))
    assert "<style" not in page
    assert re.findall(r"<script[^>]*>([^<]+)", page) == []


async def test_everything_that_the_page_loads_is_served_and_may_be_cached(app: Starlette) -> None:
    urls = LOADED_URL.findall(graphiql_page("/graphql").body.decode())
    assert len(urls) == 6
    for url in urls:
        path, _, digest = url.partition("?")
        served = await send_request(app, path=path, query_string=digest.encode())
        assert (served.status, len(served.body) > 50, len(digest)) == (200, True, 16)
        assert served.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert served.headers["content-type"].partition(";")[0] in {"text/css", "text/javascript"}


async def test_styles_load_nothing_from_another_host(app: Starlette) -> None:
    for url in LOADED_URL.findall(graphiql_page("/graphql").body.decode()):
        path = url.partition("?")[0]
        if path.endswith(".css"):
            css = (await send_request(app, path=path)).body.decode()
            assert "@import" not in css
            assert all(target.startswith('"data:') for target in re.findall(r"url\(([^)]*)", css))


async def test_the_content_security_policy_allows_scripts_and_data_of_this_server_only(app: Starlette) -> None:
    response = await send_request(app, path="/graphql", headers=HTML)
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert response.headers["cache-control"] == "no-store"
    directives = dict(part.split(" ", 1) for part in CONTENT_SECURITY_POLICY.split("; "))
    assert (directives["default-src"], directives["script-src"], directives["connect-src"]) == (
        "'none'",
        "'self'",
        "'self'",
    )
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_the_path_of_the_endpoint_is_escaped_in_the_page() -> None:
    page = graphiql_page('/x"><script>alert(1)</script>').body.decode()
    assert "<script>alert" not in page
