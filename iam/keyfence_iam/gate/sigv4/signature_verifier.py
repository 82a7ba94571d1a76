"""`SignatureVerifier`: verifies a request's signature with the secret key of the session that it claims."""

import hmac
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

from keyfence_iam.gate.account.session import MAX_CACHED_SESSIONS, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import InvalidSessionToken
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.sigv4.authorization_header import (
    ALGORITHM,
    BAD_SIGNATURE,
    EXPIRED,
    INCOMPLETE,
    TERMINATOR,
    UNKNOWN,
    AuthorizationHeader,
    SignatureError,
    parse_authorization,
)
from keyfence_iam.gate.sigv4.canonical_request import canonical_headers, canonical_request

MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)
GLOBAL_REGION = {"iam": "us-east-1"}
"""The region that requests to a global service are signed for."""
SINGLE_HEADERS = (b"host", b"authorization", b"date", b"x-amz-date", b"x-amz-security-token", b"x-amz-target")
"""Headers that may occur only once. Of two values, the verifier could read one and the engine the other."""


class SignatureVerifier:
    """Caches signing keys. Each is valid for one access key and one day."""

    def __init__(self, sessions: SessionIssuer, *, region: str) -> None:
        self._sessions = sessions
        self._region = region
        self._signing_key = lru_cache(MAX_CACHED_SESSIONS)(self._derive_signing_key)

    def verify(self, request: HttpRequest, service: str) -> Session:
        """Returns the session that signed this request for a service: `dynamodb`, `sts` or `iam`.

        Raises SignatureError. The order of the checks is that of AWS: first the scope, then the session and its
        expiry, then the signature.
        """
        now, headers = self._sessions.clock(), canonical_headers(request.headers)
        _reject_repeated_headers(request, headers)
        _reject_presigned(request.query, headers)
        authorization = parse_authorization(
            _text(headers, b"authorization"),
            _text(headers, b"x-amz-date") or _text(headers, b"date"),
            region=GLOBAL_REGION.get(service, self._region),
            service=service,
            now=now,
        )
        _reject_unsigned_headers(headers, authorization)
        session = self._session(authorization.access_key, _text(headers, b"x-amz-security-token"), service)
        if session.is_expired(now):
            raise SignatureError(EXPIRED, "The security token included in the request is expired")
        if not hmac.compare_digest(self._signature(request, headers, authorization), authorization.signature.encode()):
            raise SignatureError(BAD_SIGNATURE, MISMATCH)
        return session

    def _session(self, access_key: str, token: str | None, service: str) -> Session:
        """The message ends with a full stop, except for an invalid token at DynamoDB and IAM."""
        message = "The security token included in the request is invalid"
        try:
            return self._sessions.get(access_key, token or "")
        except InvalidSessionToken:
            stop = "" if token and service != "sts" else "."
            raise SignatureError(UNKNOWN, f"{message}{stop}") from None

    def _signature(
        self, request: HttpRequest, headers: Mapping[bytes, bytes], authorization: AuthorizationHeader
    ) -> bytes:
        canonical = canonical_request(
            request.method, request.path, request.query, headers, authorization.signed_headers, request.body
        )
        text = f"{ALGORITHM}\n{authorization.timestamp}\n{authorization.scope}\n{sha256(canonical).hexdigest()}"
        key = self._signing_key(
            authorization.access_key, authorization.day, authorization.region, authorization.service
        )
        return hmac.digest(key, text.encode(), "sha256").hex().encode()

    def _derive_signing_key(self, access_key: str, day: str, region: str, service: str) -> bytes:
        return signing_key(self._sessions.secret_key_of(access_key), day, region, service)


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _reject_repeated_headers(request: HttpRequest, headers: Mapping[bytes, bytes]) -> None:
    if len(headers) == len(request.headers):
        return
    names = [name for name, _ in request.headers]
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            raise SignatureError(BAD_SIGNATURE, f"The request has more than one '{name.decode()}' header.")


def _reject_presigned(query: bytes, headers: Mapping[bytes, bytes]) -> None:
    if b"X-Amz-Algorithm" not in query:
        return
    if b"authorization" in headers:
        message = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        raise SignatureError(BAD_SIGNATURE, message)
    raise SignatureError(INCOMPLETE, "The gate does not support presigned requests: sign with an Authorization header.")


def _reject_unsigned_headers(headers: Mapping[bytes, bytes], authorization: AuthorizationHeader) -> None:
    """Services act on x-amz- headers. An unsigned one could have been added by anybody on the way."""
    for name in headers:
        if name.startswith(b"x-amz-") and name not in authorization.signed_headers:
            message = f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            raise SignatureError(BAD_SIGNATURE, message)
