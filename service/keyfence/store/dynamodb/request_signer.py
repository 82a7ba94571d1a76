"""`RequestSigner`: makes signed HTTP requests of DynamoDB calls, by AWS Signature Version 4."""

import time
from collections.abc import Callable
from hashlib import sha256
from hmac import digest as hmac_digest

from keyfence.store.dynamodb.endpoint import Endpoint
from keyfence_iam.credentials import Credentials

MAX_SIGNING_KEYS = 10_000
"""How many signing keys are cached. A signing key needs four HMACs. Each secret key has one signing key a day."""

_CONTENT_TYPE = "application/x-amz-json-1.0"
_TARGET = "DynamoDB_20120810"
_SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"
_SIGNED_HEADERS_WITH_TOKEN = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"  # noqa: S105


class RequestSigner:
    """Signs the calls to one endpoint. Each call brings its own credentials.

    Signing keys are cached by secret key and day, because they are made from these two. A cache by access key could
    sign a call with a secret key that does not belong to the call."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._scope = f"{endpoint.region}/dynamodb/aws4_request"
        self._scope_parts = (endpoint.region, "dynamodb", "aws4_request")
        self._canonical_start = (
            f"POST\n{endpoint.canonical_path}\n\ncontent-type:{_CONTENT_TYPE}\nhost:{endpoint.host_header}\n"
        )
        self._head_start = (
            f"POST {endpoint.path} HTTP/1.1\r\nHost: {endpoint.host_header}\r\nUser-Agent: keyfence\r\n"
            f"Accept-Encoding: identity\r\nContent-Type: {_CONTENT_TYPE}\r\n"
        )
        self._signing_keys: dict[tuple[str, str], bytes] = {}
        self._second = -1
        self._timestamp = ""

    def sign(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """Returns the whole request, head and body. Raises ValueError if the credentials contain a line break: it would
        end a header too early, and a server could read the rest as another header or request."""
        timestamp, access_key, token = self._now(), credentials.access_key, credentials.token
        if token:
            names, canonical_token = _SIGNED_HEADERS_WITH_TOKEN, f"x-amz-security-token:{token}\n"
            token_header = f"X-Amz-Security-Token: {token}\r\n"
        else:
            names, canonical_token, token_header = _SIGNED_HEADERS, "", ""
        canonical_request = (
            f"{self._canonical_start}x-amz-date:{timestamp}\n{canonical_token}x-amz-target:{_TARGET}.{operation}\n\n"
            f"{names}\n{sha256(body).hexdigest()}"
        )
        scope = f"{timestamp[:8]}/{self._scope}"
        text = f"AWS4-HMAC-SHA256\n{timestamp}\n{scope}\n{sha256(canonical_request.encode()).hexdigest()}"
        signature = hmac_digest(self._signing_key(credentials.secret_key, timestamp[:8]), text.encode(), "sha256").hex()
        _check_header_values(access_key, token)
        head = (
            f"{self._head_start}X-Amz-Target: {_TARGET}.{operation}\r\nX-Amz-Date: {timestamp}\r\n{token_header}"
            f"Authorization: AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, "
            f"Signature={signature}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _now(self) -> str:
        """Returns the time as SigV4 writes it. All requests of a second share one text."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._timestamp = second, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        return self._timestamp

    def _signing_key(self, secret_key: str, day: str) -> bytes:
        key = self._signing_keys.get((secret_key, day))
        if key is None:
            key = hmac_digest(f"AWS4{secret_key}".encode(), day.encode(), "sha256")
            for part in self._scope_parts:
                key = hmac_digest(key, part.encode(), "sha256")
            if len(self._signing_keys) >= MAX_SIGNING_KEYS:
                del self._signing_keys[next(iter(self._signing_keys))]
            self._signing_keys[secret_key, day] = key
        return key


def _check_header_values(access_key: str, token: str | None) -> None:
    for value in (access_key, token or ""):
        if "\n" in value or "\r" in value:
            raise ValueError("the AWS credentials contain a line break")
