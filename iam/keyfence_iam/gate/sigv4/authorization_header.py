"""The Authorization header."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from keyfence_iam.gate.http.messages import HttpResponse, dynamodb_error
from keyfence_iam.gate.http.query_protocol import IAM, STS, xml_error


@dataclass(frozen=True, slots=True)
class SignatureErrorCode:
    """One way of not being believed, as each protocol calls it; DynamoDB's status is always 400."""

    dynamodb: str
    query: str
    query_status: int


MISSING = SignatureErrorCode("MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)
INCOMPLETE = SignatureErrorCode("IncompleteSignatureException", "IncompleteSignature", 400)
BAD_SIGNATURE = SignatureErrorCode("InvalidSignatureException", "SignatureDoesNotMatch", 403)
UNKNOWN = SignatureErrorCode("UnrecognizedClientException", "InvalidClientTokenId", 403)
EXPIRED = SignatureErrorCode("ExpiredTokenException", "ExpiredToken", 403)


NAMESPACES = {"sts": STS, "iam": IAM}


class SignatureError(Exception):
    """A request whose sender is not known, or that is not as its sender sent it."""

    def __init__(self, kind: SignatureErrorCode, message: str) -> None:
        super().__init__(f"{kind.dynamodb}: {message}")
        self.kind = kind
        self.message = message

    def answer(self, service: str) -> HttpResponse:
        if namespace := NAMESPACES.get(service):
            return xml_error(self.kind.query, self.message, self.kind.query_status, namespace=namespace)
        return dynamodb_error(self.kind.dynamodb, self.message)


ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
SKEW = timedelta(minutes=15)

_BASIC = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_PARTS = re.compile(r"([A-Za-z]+)=([^,\s]*)")
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class AuthorizationHeader:
    """Who says to have signed, for when and where, and over which headers."""

    access_key: str
    day: str
    region: str
    service: str
    signed_headers: tuple[bytes, ...]
    signature: str
    stamp: str

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/{TERMINATOR}"


def parse_authorization(
    header: str | None, stamp: str | None, *, region: str, service: str, now: datetime
) -> AuthorizationHeader:
    """Checks all that needs no secret, in the order in which AWS complains."""
    if header is None or not header.startswith("AWS4-"):
        raise SignatureError(MISSING, "Request is missing Authentication Token")
    algorithm, _, rest = header.partition(" ")
    parts = dict(_PARTS.findall(rest))
    _complete(parts, stamp, header)
    moment, written = _moment(stamp or "")
    _current(moment, now)
    signed = tuple(parts["SignedHeaders"].lower().encode("latin-1").split(b";"))
    _signs_host(signed)
    _known(algorithm)
    access_key, *scope = _credential(parts["Credential"])
    _scoped(scope, (written[:8], region, service), written)
    return AuthorizationHeader(access_key, written[:8], region, service, signed, parts["Signature"], written)


def _complete(parts: dict[str, str], stamp: str | None, header: str) -> None:
    missing = [
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parts.get(name)
    ]
    if not stamp:
        missing.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if missing:
        raise SignatureError(INCOMPLETE, f"{''.join(missing)}Authorization={header}")


def _moment(stamp: str) -> tuple[datetime, str]:
    """X-Amz-Date has the basic format, which is signed; Date may have that of HTTP."""
    try:
        return (datetime.fromisoformat(stamp), stamp) if _BASIC.fullmatch(stamp) else _http_date(stamp)
    except (ValueError, TypeError, OverflowError):
        text = f"Date must be in ISO-8601 'basic format'. Got '{stamp}'. See http://en.wikipedia.org/wiki/ISO_8601"
        raise SignatureError(INCOMPLETE, text) from None


def _http_date(stamp: str) -> tuple[datetime, str]:
    moment = parsedate_to_datetime(stamp)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment, moment.strftime(_STAMP)


def _current(moment: datetime, now: datetime) -> None:
    if moment < (bound := now - SKEW):
        text = f"Signature expired: {moment:{_STAMP}} is now earlier than {bound:{_STAMP}} ({now:{_STAMP}} - 15 min.)"
        raise SignatureError(BAD_SIGNATURE, text)
    if moment > (bound := now + SKEW):
        text = f"Signature not yet current: {moment:{_STAMP}} is still later than {bound:{_STAMP}}"
        raise SignatureError(BAD_SIGNATURE, f"{text} ({now:{_STAMP}} + 15 min.)")


def _signs_host(signed: tuple[bytes, ...]) -> None:
    if b"host" not in signed:
        text = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        raise SignatureError(BAD_SIGNATURE, text)


def _known(algorithm: str) -> None:
    if algorithm != ALGORITHM:
        text = f"Unsupported AWS 'algorithm': '{algorithm}' (only {ALGORITHM} for now). "
        raise SignatureError(INCOMPLETE, text)


def _credential(credential: str) -> list[str]:
    parts = credential.split("/")
    if len(parts) != 5:
        text = "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term,"
        raise SignatureError(INCOMPLETE, f"{text} got '{credential}'")
    return parts


def _scoped(scope: list[str], wanted: tuple[str, str, str], stamp: str) -> None:
    day, region, service, terminator = scope
    wrong = ""
    if region != wanted[1]:
        wrong += "Credential should be scoped to a valid region. "
    if service != wanted[2]:
        wrong += f"Credential should be scoped to correct service: '{wanted[2]}'. "
    if terminator != TERMINATOR:
        wrong += f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
    if day != wanted[0]:
        wrong += "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        wrong += f"'{day}' != '{wanted[0]}', from '{stamp}'."
    if wrong:
        raise SignatureError(BAD_SIGNATURE, wrong)
