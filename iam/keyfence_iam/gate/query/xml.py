"""Answers of AWS's query protocol."""

import re
import uuid
from collections.abc import Mapping
from xml.sax.saxutils import escape

from keyfence_iam.gate.answer import Answer

STS = "https://sts.amazonaws.com/doc/2011-06-15/"
IAM = "https://iam.amazonaws.com/doc/2010-05-08/"
FAULT = "http://webservices.amazon.com/AWSFault/2005-15-09"

Content = str | Mapping[str, "Content"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def success(operation: str, result: Mapping[str, Content] | None, *, namespace: str = STS) -> Answer:
    request = str(uuid.uuid4())
    told: Mapping[str, Content] = {} if result is None else {f"{operation}Result": result}
    inside = _elements({**told, "ResponseMetadata": {"RequestId": request}})
    return _answer(200, f'<{operation}Response xmlns="{namespace}">{inside}</{operation}Response>', request)


def failure(code: str, message: str, status: int = 400, *, namespace: str = STS) -> Answer:
    request = str(uuid.uuid4())
    inside = _elements({"Error": {"Type": "Sender", "Code": code, "Message": message}, "RequestId": request})
    return _answer(status, f'<ErrorResponse xmlns="{namespace}">{inside}</ErrorResponse>', request)


def _elements(content: Mapping[str, Content]) -> str:
    return "".join(f"<{name}>{_text(value)}</{name}>" for name, value in content.items())


def _text(content: Content) -> str:
    """Messages repeat what callers sent, also what XML has no way to write."""
    return escape(_NOT_XML.sub("\ufffd", content)) if isinstance(content, str) else _elements(content)


def _answer(status: int, text: str, request: str) -> Answer:
    body = text.encode()
    headers = [
        (b"content-type", b"text/xml"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", request.encode()),
    ]
    return Answer(status, headers, body)
