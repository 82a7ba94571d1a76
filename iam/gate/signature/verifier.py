"""Signature version 4 of a request, verified against the session behind its access key."""

import hmac
from functools import lru_cache
from hashlib import sha256

from iam.gate.request import Request
from iam.gate.session import Session
from iam.gate.sessions import REMEMBERED, Sessions
from iam.gate.signature.authorization import ALGORITHM, Authorization, read
from iam.gate.signature.canonical import canonical_request
from iam.gate.signature.refusal import BAD_SIGNATURE, EXPIRED, INCOMPLETE, UNKNOWN, NotBelieved
from iam.gate.token import BadToken

MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)
ONCE = (b"host", b"authorization", b"date", b"x-amz-date", b"x-amz-security-token", b"x-amz-target")
"""Of two of these, who verifies could read one and who acts the other."""


class Verifier:
    """Remembers signing keys, each of which is good for one day of one access key."""

    def __init__(self, sessions: Sessions, *, region: str) -> None:
        self._sessions = sessions
        self._region = region
        self._signing_key = lru_cache(REMEMBERED)(self._derived_key)

    def verify(self, request: Request, service: str) -> Session:
        """The session that sent this request to this service, `dynamodb` or `sts`.

        The scope is checked first, then the session and its end, then the signature: what AWS was seen to do with
        credentials of a session, where only the token says whose they are.
        """
        now, headers = self._sessions.clock(), _single(request)
        _refuse_presigned(request.query, headers)
        stamp = headers.get("x-amz-date", headers.get("date"))
        claim = read(headers.get("authorization"), stamp, region=self._region, service=service, now=now)
        _all_signed(request, claim)
        session = self._session(claim.access_key, headers.get("x-amz-security-token"), service)
        if session.expired(now):
            raise NotBelieved(EXPIRED, "The security token included in the request is expired")
        if not hmac.compare_digest(self._signature(request, claim).encode(), claim.signature.encode()):
            raise NotBelieved(BAD_SIGNATURE, MISMATCH)
        return session

    def _session(self, access_key: str, token: str | None, service: str) -> Session:
        """DynamoDB ends the text of a token that is not this key's without a full stop, and STS with it."""
        text = "The security token included in the request is invalid"
        try:
            return self._sessions.find(access_key, token or "")
        except BadToken:
            stop = "" if token and service != "sts" else "."
            raise NotBelieved(UNKNOWN, f"{text}{stop}") from None

    def _signature(self, request: Request, claim: Authorization) -> str:
        canonical = canonical_request(
            request.method, request.path, request.query, request.headers, claim.signed_headers, request.body
        )
        text = f"{ALGORITHM}\n{claim.stamp}\n{claim.scope}\n{sha256(canonical).hexdigest()}"
        key = self._signing_key(claim.access_key, claim.day, claim.service)
        return hmac.digest(key, text.encode(), "sha256").hex()

    def _derived_key(self, access_key: str, day: str, service: str) -> bytes:
        return signing_key(self._sessions.secret_of(access_key), day, self._region, service)


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _single(request: Request) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in request.headers:
        if name in ONCE:
            if name.decode() in found:
                raise NotBelieved(BAD_SIGNATURE, f"The request has more than one '{name.decode()}' header.")
            found[name.decode()] = value.decode("latin-1").strip()
    return found


def _refuse_presigned(query: bytes, headers: dict[str, str]) -> None:
    if b"X-Amz-Algorithm" not in query:
        return
    if "authorization" in headers:
        text = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        raise NotBelieved(BAD_SIGNATURE, text)
    raise NotBelieved(INCOMPLETE, "Presigned requests are not taken here: sign with an Authorization header.")


def _all_signed(request: Request, claim: Authorization) -> None:
    """Every x-amz- header means something to a service: one that is not signed could have been put there by anybody."""
    for name, _ in request.headers:
        if name.startswith(b"x-amz-") and name.decode("latin-1") not in claim.signed_headers:
            text = f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            raise NotBelieved(BAD_SIGNATURE, text)
