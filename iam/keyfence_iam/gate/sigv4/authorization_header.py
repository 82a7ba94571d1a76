"""Parses the Authorization header of Signature Version 4. `SignatureError` has the error codes of AWS."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from keyfence_iam.gate.http.messages import HttpResponse, dynamodb_error
from keyfence_iam.gate.http.query_protocol import IAM_NAMESPACE, STS_NAMESPACE, xml_error

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
"""The last element of a credential scope."""
MAX_CLOCK_SKEW = timedelta(minutes=15)
"""How far the time of a request may be from the gate's time, as on AWS."""
XML_NAMESPACES = {"sts": STS_NAMESPACE, "iam": IAM_NAMESPACE}

_ISO_BASIC_DATE = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_PARAMETER = re.compile(r"([A-Za-z]+)=([^,\s]*)")
_TIME_FORMAT = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class SignatureErrorCode:
    """An error has one code in responses of DynamoDB and another in responses of STS and IAM.

    The HTTP status of errors of DynamoDB is always 400.
    """

    dynamodb: str
    query_protocol: str
    query_protocol_status: int


MISSING_TOKEN = SignatureErrorCode("MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)
INCOMPLETE_SIGNATURE = SignatureErrorCode("IncompleteSignatureException", "IncompleteSignature", 400)
BAD_SIGNATURE = SignatureErrorCode("InvalidSignatureException", "SignatureDoesNotMatch", 403)
UNKNOWN_SESSION = SignatureErrorCode("UnrecognizedClientException", "InvalidClientTokenId", 403)
EXPIRED_SESSION = SignatureErrorCode("ExpiredTokenException", "ExpiredToken", 403)


class SignatureError(Exception):
    """The request has no valid signature of a known session."""

    def __init__(self, code: SignatureErrorCode, message: str) -> None:
        super().__init__(f"{code.dynamodb}: {message}")
        self.code = code
        self.message = message

    def response(self, service: str) -> HttpResponse:
        if namespace := XML_NAMESPACES.get(service):
            return xml_error(
                self.code.query_protocol, self.message, self.code.query_protocol_status, namespace=namespace
            )
        return dynamodb_error(self.code.dynamodb, self.message)


@dataclass(frozen=True, slots=True)
class AuthorizationHeader:
    """The parsed Authorization header, and the time of the request."""

    access_key: str
    day: str
    """The date in the scope of the signing key: YYYYMMDD."""
    region: str
    service: str
    signed_headers: tuple[bytes, ...]
    signature: str
    timestamp: str
    """The time of the request in ISO 8601 basic format, which is part of the signed text."""

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/{TERMINATOR}"


def parse_authorization(
    header: str | None, date: str | None, *, region: str, service: str, now: datetime
) -> AuthorizationHeader:
    """Parses the Authorization header and makes all checks that need no secret key. Raises SignatureError if one fails.

    The checks have the order of AWS, so that a request with several errors gets the same error as on AWS.
    """
    if header is None or not header.startswith("AWS4-"):
        raise SignatureError(MISSING_TOKEN, "Request is missing Authentication Token")
    algorithm, _, parameter_list = header.partition(" ")
    parameters = dict(_PARAMETER.findall(parameter_list))
    _check_complete(parameters, date, header)
    time, timestamp = _parse_date(date or "")
    _check_clock_skew(time, now)
    signed_headers = tuple(parameters["SignedHeaders"].lower().encode("latin-1").split(b";"))
    _check_host_is_signed(signed_headers)
    _check_algorithm(algorithm)
    access_key, *scope = _split_credential(parameters["Credential"])
    day = timestamp[:8]
    _check_scope(scope, (day, region, service), timestamp)
    return AuthorizationHeader(access_key, day, region, service, signed_headers, parameters["Signature"], timestamp)


def _check_complete(parameters: dict[str, str], date: str | None, header: str) -> None:
    missing = [
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parameters.get(name)
    ]
    if not date:
        missing.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if missing:
        raise SignatureError(INCOMPLETE_SIGNATURE, f"{''.join(missing)}Authorization={header}")


def _parse_date(date: str) -> tuple[datetime, str]:
    """Returns the time of a request twice: as a datetime, and as text in ISO 8601 basic format.

    `date` has ISO 8601 basic format or the date format of HTTP. Raises SignatureError if it has another format.
    """
    try:
        return (datetime.fromisoformat(date), date) if _ISO_BASIC_DATE.fullmatch(date) else _parse_http_date(date)
    except (ValueError, TypeError, OverflowError):
        message = f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
        raise SignatureError(INCOMPLETE_SIGNATURE, message) from None


def _parse_http_date(date: str) -> tuple[datetime, str]:
    time = parsedate_to_datetime(date)
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time, time.strftime(_TIME_FORMAT)


def _check_clock_skew(time: datetime, now: datetime) -> None:
    if time < (earliest := now - MAX_CLOCK_SKEW):
        message = f"Signature expired: {time:{_TIME_FORMAT}} is now earlier than {earliest:{_TIME_FORMAT}}"
        raise SignatureError(BAD_SIGNATURE, f"{message} ({now:{_TIME_FORMAT}} - 15 min.)")
    if time > (latest := now + MAX_CLOCK_SKEW):
        message = f"Signature not yet current: {time:{_TIME_FORMAT}} is still later than {latest:{_TIME_FORMAT}}"
        raise SignatureError(BAD_SIGNATURE, f"{message} ({now:{_TIME_FORMAT}} + 15 min.)")


def _check_host_is_signed(signed_headers: tuple[bytes, ...]) -> None:
    if b"host" not in signed_headers:
        message = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        raise SignatureError(BAD_SIGNATURE, message)


def _check_algorithm(algorithm: str) -> None:
    if algorithm != ALGORITHM:
        message = f"Unsupported AWS 'algorithm': '{algorithm}' (only {ALGORITHM} for now). "
        raise SignatureError(INCOMPLETE_SIGNATURE, message)


def _split_credential(credential: str) -> list[str]:
    parts = credential.split("/")
    if len(parts) != 5:
        message = "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term,"
        raise SignatureError(INCOMPLETE_SIGNATURE, f"{message} got '{credential}'")
    return parts


def _check_scope(scope: list[str], expected: tuple[str, str, str], timestamp: str) -> None:
    day, region, service, terminator = scope
    expected_day, expected_region, expected_service = expected
    problems = ""
    if region != expected_region:
        problems += "Credential should be scoped to a valid region. "
    if service != expected_service:
        problems += f"Credential should be scoped to correct service: '{expected_service}'. "
    if terminator != TERMINATOR:
        problems += f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
    if day != expected_day:
        problems += "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        problems += f"'{day}' != '{expected_day}', from '{timestamp}'."
    if problems:
        raise SignatureError(BAD_SIGNATURE, problems)
