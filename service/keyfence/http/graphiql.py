"""The page of GraphiQL, and the routes of its scripts and styles. The page loads nothing from other servers."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyfence.http.response import HttpResponse

STYLES = ("graphiql.min.css", "page.css")
SCRIPTS = ("react.production.min.js", "react-dom.production.min.js", "graphiql.min.js", "page.js")
FILES_PATH = "/graphiql"
CACHE_FOREVER = "public, max-age=31536000, immutable"
"""The URL of a file contains a digest of the content, so a browser can keep the file for a year."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keyfence GraphiQL</title>
<link rel="icon" href="data:,">
$styles
$scripts
</head>
<body><div id="graphiql" data-url="$url"$sign_in><p class="loading">Loading GraphiQL ...</p></div></body>
</html>
""")


def graphiql_page(url: str, *, sign_in_path: str | None = None) -> HttpResponse:
    """Returns the page that sends its queries to the endpoint at `url`.

    With `sign_in_path`, the page has a bar in which a developer chooses a tenant, a user and a role."""
    html = _PAGE.substitute(
        url=escape(url),
        sign_in=f' data-sign-in="{escape(sign_in_path)}"' if sign_in_path else "",
        styles="\n".join(f'<link rel="stylesheet" href="{_versioned_url(name)}">' for name in STYLES),
        scripts="\n".join(f'<script defer src="{_versioned_url(name)}"></script>' for name in SCRIPTS),
    )
    return HttpResponse(
        body=html.encode(),
        content_type="text/html; charset=utf-8",
        headers=[(b"content-security-policy", CONTENT_SECURITY_POLICY.encode())],
    )


def graphiql_routes() -> Iterator[Route]:
    """Yields the routes of the scripts and styles that the page loads."""
    for names, media_type in ((STYLES, "text/css"), (SCRIPTS, "text/javascript")):
        for name in names:
            yield Route(f"{FILES_PATH}/{name}", partial(_serve, _read(name), media_type))


async def _serve(body: bytes, media_type: str, _: Request) -> Response:
    return Response(body, media_type=media_type, headers={"cache-control": CACHE_FOREVER})


def _versioned_url(name: str) -> str:
    return f"{FILES_PATH}/{name}?{sha256(_read(name)).hexdigest()[:16]}"


def _read(name: str) -> bytes:
    return (files(__package__) / "graphiql_files" / name).read_bytes()
