"""Signature version 4 of a request, verified against the session behind its access key."""

import hmac
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

from keyfence_iam.gate.account.session import REMEMBERED, Session, SessionIssuer
from keyfence_iam.gate.account.session_token import InvalidSessionToken
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.sigv4.authorization_header import (
    ALGORITHM,
    BAD_SIGNATURE,
    EXPIRED,
    INCOMPLETE,
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
"""Where requests to a service that is the same in every region are signed for."""
SINGLE_HEADERS = (b"host", b"authorization", b"date", b"x-amz-date", b"x-amz-security-token", b"x-amz-target")
"""Of two of these, who verifies could read one and who acts the other."""


class SignatureVerifier:
    """Remembers signing keys, each of which is good for one day of one access key."""

    def __init__(self, sessions: SessionIssuer, *, region: str) -> None:
        self._sessions = sessions
        self._region = region
        self._signing_key = lru_cache(REMEMBERED)(self._derived_key)

    def verify(self, request: HttpRequest, service: str) -> Session:
        """The session that sent this request to this service, `dynamodb`, `sts` or `iam`.

        The scope is checked first, then the session and its end, then the signature: what AWS was seen to do with
        credentials of a session, where only the token says whose they are.
        """
        now, headers = self._sessions.clock(), canonical_headers(request.headers)
        _refuse_repeated(request, headers)
        _refuse_presigned(request.query, headers)
        stamp = _text(headers, b"x-amz-date") or _text(headers, b"date")
        region = GLOBAL_REGION.get(service, self._region)
        claim = parse_authorization(_text(headers, b"authorization"), stamp, region=region, service=service, now=now)
        _refuse_unsigned(headers, claim)
        session = self._session(claim.access_key, _text(headers, b"x-amz-security-token"), service)
        if session.expired(now):
            raise SignatureError(EXPIRED, "The security token included in the request is expired")
        if not hmac.compare_digest(self._signature(request, headers, claim), claim.signature.encode()):
            raise SignatureError(BAD_SIGNATURE, MISMATCH)
        return session

    def _session(self, access_key: str, token: str | None, service: str) -> Session:
        """DynamoDB ends the text of a token that is not this key's without a full stop, and STS with it."""
        text = "The security token included in the request is invalid"
        try:
            return self._sessions.find(access_key, token or "")
        except InvalidSessionToken:
            stop = "" if token and service != "sts" else "."
            raise SignatureError(UNKNOWN, f"{text}{stop}") from None

    def _signature(self, request: HttpRequest, headers: Mapping[bytes, bytes], claim: AuthorizationHeader) -> bytes:
        canonical = canonical_request(
            request.method, request.path, request.query, headers, claim.signed_headers, request.body
        )
        text = f"{ALGORITHM}\n{claim.stamp}\n{claim.scope}\n{sha256(canonical).hexdigest()}"
        key = self._signing_key(claim.access_key, claim.day, claim.region, claim.service)
        return hmac.digest(key, text.encode(), "sha256").hex().encode()

    def _derived_key(self, access_key: str, day: str, region: str, service: str) -> bytes:
        return signing_key(self._sessions.secret_of(access_key), day, region, service)


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _refuse_repeated(request: HttpRequest, headers: Mapping[bytes, bytes]) -> None:
    if len(headers) == len(request.headers):
        return
    names = [name for name, _ in request.headers]
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            raise SignatureError(BAD_SIGNATURE, f"The request has more than one '{name.decode()}' header.")


def _refuse_presigned(query: bytes, headers: Mapping[bytes, bytes]) -> None:
    if b"X-Amz-Algorithm" not in query:
        return
    if b"authorization" in headers:
        text = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        raise SignatureError(BAD_SIGNATURE, text)
    raise SignatureError(INCOMPLETE, "Presigned requests are not taken here: sign with an Authorization header.")


def _refuse_unsigned(headers: Mapping[bytes, bytes], claim: AuthorizationHeader) -> None:
    """Every x-amz- header means something to a service: one that is not signed could have been put there by anybody."""
    for name in headers:
        if name.startswith(b"x-amz-") and name not in claim.signed_headers:
            text = f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            raise SignatureError(BAD_SIGNATURE, text)
