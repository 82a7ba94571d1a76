"""`SignatureVerifier`: verifies the signature of a request with the secret key of its session."""

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
    EXPIRED_SESSION,
    INCOMPLETE_SIGNATURE,
    TERMINATOR,
    UNKNOWN_SESSION,
    AuthorizationHeader,
    SignatureError,
    parse_authorization,
)
from keyfence_iam.gate.sigv4.canonical_request import canonical_headers, canonical_request

MISMATCH_MESSAGE = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)
SIGNING_REGION_OF_GLOBAL_SERVICES = {"iam": "us-east-1"}
"""The region in signatures of requests to a service that has no regions."""
UNREPEATABLE_HEADERS = (b"host", b"authorization", b"date", b"x-amz-date", b"x-amz-security-token", b"x-amz-target")
"""Headers that may occur only once. Otherwise the verifier could read one value and the engine another value."""


class SignatureVerifier:
    """Verifies signatures. Signing keys are cached, by access key, day, region and service."""

    def __init__(self, issuer: SessionIssuer, *, region: str) -> None:
        self._issuer = issuer
        self._region = region
        self._cached_signing_key = lru_cache(MAX_CACHED_SESSIONS)(self._derive_signing_key)

    def verify(self, request: HttpRequest, service: str) -> Session:
        """Returns the session that signed this request. `service` is `dynamodb`, `sts` or `iam`.

        Raises SignatureError if a check fails. The checks have the order of AWS: first the Authorization header, then
        the session and its expiry, then the signature.
        """
        now, headers = self._issuer.clock(), canonical_headers(request.headers)
        _reject_repeated_headers(request, headers)
        _reject_presigned(request.query, headers)
        authorization = parse_authorization(
            _header_text(headers, b"authorization"),
            _header_text(headers, b"x-amz-date") or _header_text(headers, b"date"),
            region=SIGNING_REGION_OF_GLOBAL_SERVICES.get(service, self._region),
            service=service,
            now=now,
        )
        _reject_unsigned_headers(headers, authorization)
        session = self._get_session(authorization.access_key, _header_text(headers, b"x-amz-security-token"), service)
        if session.is_expired(now):
            raise SignatureError(EXPIRED_SESSION, "The security token included in the request is expired")
        signature = self._expected_signature(request, headers, authorization)
        if not hmac.compare_digest(signature, authorization.signature.encode()):
            raise SignatureError(BAD_SIGNATURE, MISMATCH_MESSAGE)
        return session

    def _get_session(self, access_key: str, token: str | None, service: str) -> Session:
        """Returns the session of a token. Raises SignatureError if the token is missing or invalid.

        As on AWS, the message ends with a full stop if the token is missing or if the service is STS.
        """
        message = "The security token included in the request is invalid"
        try:
            return self._issuer.get(access_key, token or "")
        except InvalidSessionToken:
            full_stop = "" if token and service != "sts" else "."
            raise SignatureError(UNKNOWN_SESSION, f"{message}{full_stop}") from None

    def _expected_signature(
        self, request: HttpRequest, headers: Mapping[bytes, bytes], authorization: AuthorizationHeader
    ) -> bytes:
        canonical = canonical_request(
            request.method, request.path, request.query, headers, authorization.signed_headers, request.body
        )
        string_to_sign = (
            f"{ALGORITHM}\n{authorization.timestamp}\n{authorization.scope}\n{sha256(canonical).hexdigest()}"
        )
        key = self._cached_signing_key(
            authorization.access_key, authorization.day, authorization.region, authorization.service
        )
        return hmac.digest(key, string_to_sign.encode(), "sha256").hex().encode()

    def _derive_signing_key(self, access_key: str, day: str, region: str, service: str) -> bytes:
        return signing_key(self._issuer.secret_key_of(access_key), day, region, service)


def signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _header_text(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _reject_repeated_headers(request: HttpRequest, headers: Mapping[bytes, bytes]) -> None:
    if len(headers) == len(request.headers):  # `headers` has each name once, so no header is repeated
        return
    names = [name for name, _ in request.headers]
    for name in UNREPEATABLE_HEADERS:
        if names.count(name) > 1:
            raise SignatureError(BAD_SIGNATURE, f"The request has more than one '{name.decode()}' header.")


def _reject_presigned(query: bytes, headers: Mapping[bytes, bytes]) -> None:
    if b"X-Amz-Algorithm" not in query:
        return
    if b"authorization" in headers:
        message = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        raise SignatureError(BAD_SIGNATURE, message)
    raise SignatureError(
        INCOMPLETE_SIGNATURE, "The gate does not support presigned requests: sign with an Authorization header."
    )


def _reject_unsigned_headers(headers: Mapping[bytes, bytes], authorization: AuthorizationHeader) -> None:
    """Raises SignatureError if a header whose name begins with x-amz- is not signed.

    Services act on these headers. Anybody between the caller and the gate could have added an unsigned header.
    """
    for name in headers:
        if name.startswith(b"x-amz-") and name not in authorization.signed_headers:
            message = f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            raise SignatureError(BAD_SIGNATURE, message)
