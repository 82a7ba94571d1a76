"""`CorsPolicy`: which web pages of other origins may call an endpoint (Cross-Origin Resource Sharing)."""

import re
from dataclasses import dataclass, replace

from keyfence.http.response import Headers, HttpResponse
from keyfence.validation import LOCAL_ORIGINS, is_https_origin

PREFLIGHT_SECONDS = 7_200
"""How long a browser may cache the response to a preflight. Chromium caches it for no longer."""

_LOCAL_ORIGIN = re.compile(r"http://(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?")
_VARY_HEADER = (b"vary", b"Origin")
_PREFLIGHT_HEADERS: Headers = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, *"),
    (b"access-control-max-age", str(PREFLIGHT_SECONDS).encode()),
)
_EXPOSED_HEADERS = (b"access-control-expose-headers", b"x-request-id, retry-after")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorsPolicy:
    """The origins that may call one endpoint. Browsers send no cookies, because no response allows credentials."""

    origins: frozenset[str] = frozenset()
    """Origins that may call the endpoint for every tenant. LOCAL_ORIGINS stands for all pages of this machine."""
    tenants_have_origins: bool = False
    """Whether a tenant can have further origins. A preflight names no tenant, so preflights of all https origins are
    then answered, and each request is checked when its tenant is known."""

    def allows(self, origin: str, host: str | None) -> bool:
        """Returns whether pages of the origin may call the endpoint for every tenant. `host` is the Host header: a page
        of the same host is not of another origin."""
        return (
            origin in self.origins
            or (LOCAL_ORIGINS in self.origins and _LOCAL_ORIGIN.fullmatch(origin) is not None)
            or (host is not None and origin.partition("://")[2] == host)
        )

    def preflight(self, origin: str) -> HttpResponse:
        """Returns the response to an OPTIONS request. A browser sends the real request only if the response
        names the origin."""
        headers = _PREFLIGHT_HEADERS if self._may_read(origin) else ()
        return self.add_headers(HttpResponse(status=204, body=b"", content_type="text/plain", headers=headers), origin)

    def add_headers(self, response: HttpResponse, origin: str | None) -> HttpResponse:
        """Returns the response with CORS headers. If the origin is allowed, they let its pages read the response."""
        if not self.origins and not self.tenants_have_origins:
            return response
        headers = (*response.headers, _VARY_HEADER)
        if origin is not None and self._may_read(origin):
            headers = (*headers, (b"access-control-allow-origin", origin.encode("latin-1")), _EXPOSED_HEADERS)
        return replace(response, headers=headers)

    def _may_read(self, origin: str) -> bool:
        return self.allows(origin, None) or (self.tenants_have_origins and is_https_origin(origin))
