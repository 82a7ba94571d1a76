"""Forms in, XML out; operation names of STS and IAM."""

import re
import uuid
from collections.abc import Mapping
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from keyfence_iam.gate.http.messages import HttpResponse

MOST_FIELDS = 1000


class InvalidForm(ValueError):
    """A body that is no form, or one with more fields than any operation has."""


class QueryForm:
    """Of a name that occurs twice the first is meant, names that no operation has are passed over."""

    def __init__(self, body: bytes) -> None:
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise InvalidForm(str(error)) from error
        self._fields = dict(reversed(pairs))

    @classmethod
    def find_version(cls, body: bytes) -> str | None:
        """Of the protocol that the form is written for, which differs from service to service."""
        try:
            return cls(body).find("Version")
        except InvalidForm:
            return None

    def find(self, name: str) -> str | None:
        return self._fields.get(name)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(member.get("", "") for member in self.members(name))

    def members(self, name: str) -> tuple[Mapping[str, str], ...]:
        """The members of a list in the order of their numbers, each by the names of its fields."""
        numbered: dict[int, dict[str, str]] = {}
        for field, value in self._fields.items():
            if match := re.fullmatch(rf"{name}\.member\.([1-9][0-9]{{0,4}})(?:\.([A-Za-z]+))?", field, re.ASCII):
                numbered.setdefault(int(match[1]), {})[match[2] or ""] = value
        return tuple(numbered[number] for number in sorted(numbered))


STS = "https://sts.amazonaws.com/doc/2011-06-15/"
IAM = "https://iam.amazonaws.com/doc/2010-05-08/"
FAULT = "http://webservices.amazon.com/AWSFault/2005-15-09"

Content = str | Mapping[str, "Content"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_response(operation: str, result: Mapping[str, Content] | None, *, namespace: str = STS) -> HttpResponse:
    request = str(uuid.uuid4())
    told: Mapping[str, Content] = {} if result is None else {f"{operation}Result": result}
    inside = _elements({**told, "ResponseMetadata": {"RequestId": request}})
    return _answer(200, f'<{operation}Response xmlns="{namespace}">{inside}</{operation}Response>', request)


def xml_error(code: str, message: str, status: int = 400, *, namespace: str = STS) -> HttpResponse:
    request = str(uuid.uuid4())
    inside = _elements({"Error": {"Type": "Sender", "Code": code, "Message": message}, "RequestId": request})
    return _answer(status, f'<ErrorResponse xmlns="{namespace}">{inside}</ErrorResponse>', request)


def _elements(content: Mapping[str, Content]) -> str:
    return "".join(f"<{name}>{_text(value)}</{name}>" for name, value in content.items())


def _text(content: Content) -> str:
    """Messages repeat what callers sent, also what XML has no way to write."""
    return escape(_NOT_XML.sub("\ufffd", content)) if isinstance(content, str) else _elements(content)


def _answer(status: int, text: str, request: str) -> HttpResponse:
    body = text.encode()
    headers = [
        (b"content-type", b"text/xml"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", request.encode()),
    ]
    return HttpResponse(status, headers, body)


class QueryError(Exception):
    """An error of STS or IAM, as its XML will say it."""

    def __init__(self, code: str, message: str, status: int = 400, *, namespace: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self._namespace = namespace

    def answer(self, namespace: str = STS) -> HttpResponse:
        return xml_error(self.code, self.message, self.status, namespace=self._namespace or namespace)


def validation_error(message: str) -> QueryError:
    return QueryError("ValidationError", message)


def access_denied(caller: str, action: str, resource: str, reason: str = "") -> QueryError:
    message = f"User: {caller} is not authorized to perform: {action} on resource: {resource}{reason}"
    return QueryError("AccessDenied", message, 403)


PUT, GET, DELETE = "PutRolePolicy", "GetRolePolicy", "DeleteRolePolicy"
IAM_OPERATIONS = frozenset({PUT, GET, DELETE})
