"""The query protocol of AWS, which STS and IAM use: requests are forms, and responses are XML."""

import re
import uuid
from collections.abc import Mapping
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from keyfence_iam.gate.http.messages import HttpResponse

MAX_FIELDS = 1000
"""The number of fields that a form may have. The largest valid form, AssumeRole with 50 tags, has fewer than 200."""
STS_NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
IAM_NAMESPACE = "https://iam.amazonaws.com/doc/2010-05-08/"
UNKNOWN_OPERATION_NAMESPACE = "http://webservices.amazon.com/AWSFault/2005-15-09"
"""The XML namespace of the error for an unknown operation. This namespace belongs to no service."""
PUT_ROLE_POLICY, GET_ROLE_POLICY, DELETE_ROLE_POLICY = "PutRolePolicy", "GetRolePolicy", "DeleteRolePolicy"
IAM_OPERATIONS = frozenset({PUT_ROLE_POLICY, GET_ROLE_POLICY, DELETE_ROLE_POLICY})
STS_OPERATIONS = frozenset({"AssumeRole", "GetCallerIdentity", "GetSessionToken", "GetFederationToken"})
"""The operations that the gate answers."""

_INVALID_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

XmlContent = str | Mapping[str, "XmlContent"]
"""The content of an XML element: text, or child elements by name."""


class InvalidForm(ValueError):
    """A body that is not a form, or a form with more than MAX_FIELDS fields."""


class QueryForm:
    """The fields of a form. If a field is repeated, its first value is used. Unknown fields are ignored."""

    def __init__(self, body: bytes) -> None:
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError as error:
            raise InvalidForm(str(error)) from error
        self._fields = dict(reversed(pairs))

    @classmethod
    def find_version(cls, body: bytes) -> str | None:
        """Returns the API version that the form in `body` names, or None. Each service has its own API version."""
        try:
            return cls(body).find("Version")
        except InvalidForm:
            return None

    def find(self, name: str) -> str | None:
        return self._fields.get(name)

    def string_list(self, name: str) -> tuple[str, ...]:
        """Returns the values of a list of strings: the fields `<name>.member.<number>`."""
        return tuple(member.get("", "") for member in self.structure_list(name))

    def structure_list(self, name: str) -> tuple[Mapping[str, str], ...]:
        """Returns the elements of a list of structures: the fields `<name>.member.<number>.<field>`.

        The elements are in the order of their numbers. Each element maps the names of its fields to their values.
        """
        members_by_number: dict[int, dict[str, str]] = {}
        for field, value in self._fields.items():
            if match := re.fullmatch(rf"{name}\.member\.([1-9][0-9]{{0,4}})(?:\.([A-Za-z]+))?", field, re.ASCII):
                members_by_number.setdefault(int(match[1]), {})[match[2] or ""] = value
        return tuple(members_by_number[number] for number in sorted(members_by_number))


class QueryError(Exception):
    """An error that STS or IAM reports to the caller."""

    def __init__(self, code: str, message: str, status: int = 400, *, namespace: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self._namespace = namespace

    def response(self, namespace: str = STS_NAMESPACE) -> HttpResponse:
        return xml_error(self.code, self.message, self.status, namespace=self._namespace or namespace)


def validation_error(message: str) -> QueryError:
    return QueryError("ValidationError", message)


def access_denied(caller_arn: str, action: str, resource: str, reason: str = "") -> QueryError:
    message = f"User: {caller_arn} is not authorized to perform: {action} on resource: {resource}{reason}"
    return QueryError("AccessDenied", message, 403)


def xml_response(
    operation: str, result: Mapping[str, XmlContent] | None, *, namespace: str = STS_NAMESPACE
) -> HttpResponse:
    """Returns the response of an operation. `result` is None if the operation returns nothing."""
    request_id = str(uuid.uuid4())
    content: Mapping[str, XmlContent] = {} if result is None else {f"{operation}Result": result}
    xml = _elements_xml({**content, "ResponseMetadata": {"RequestId": request_id}})
    return _xml_response(200, f'<{operation}Response xmlns="{namespace}">{xml}</{operation}Response>', request_id)


def xml_error(code: str, message: str, status: int = 400, *, namespace: str = STS_NAMESPACE) -> HttpResponse:
    request_id = str(uuid.uuid4())
    xml = _elements_xml({"Error": {"Type": "Sender", "Code": code, "Message": message}, "RequestId": request_id})
    return _xml_response(status, f'<ErrorResponse xmlns="{namespace}">{xml}</ErrorResponse>', request_id)


def _elements_xml(content: Mapping[str, XmlContent]) -> str:
    return "".join(f"<{name}>{_content_xml(value)}</{name}>" for name, value in content.items())


def _content_xml(content: XmlContent) -> str:
    """Returns content as XML. Characters that are not allowed in XML are replaced by U+FFFD.

    Error messages can have such characters, because they quote values that callers sent.
    """
    return escape(_INVALID_IN_XML.sub("\ufffd", content)) if isinstance(content, str) else _elements_xml(content)


def _xml_response(status: int, xml: str, request_id: str) -> HttpResponse:
    body = xml.encode()
    headers = [
        (b"content-type", b"text/xml"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", request_id.encode()),
    ]
    return HttpResponse(status, headers, body)
