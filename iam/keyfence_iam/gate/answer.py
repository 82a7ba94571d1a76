"""What goes back to a caller: the engine's own bytes, or an error in the words of AWS's JSON protocol."""

import json
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Headers = list[tuple[bytes, bytes]]

CORAL = "com.amazon.coral.service#"
DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
AVAILABILITY = "com.amazon.coral.availability#"
DYNAMODB_CODES = frozenset(
    {
        "ConditionalCheckFailedException",
        "InternalServerError",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ResourceInUseException",
        "ResourceNotFoundException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response."""

    status: int
    headers: Headers
    body: bytes


class Refusal(Exception):
    """The end of a call that does not come from the engine, with the answer that says so."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.body)
        self.answer = answer


def error(code: str, message: str | None = None, status: int = 400) -> Answer:
    """DynamoDB's own errors spell `message`, those of the layer before it `Message`; a few come without."""
    kind = _qualified(code)
    spelling = "message" if kind.startswith(DYNAMODB) else "Message"
    said = {} if message is None else {spelling: message}
    return json_answer({"__type": kind, **said}, status)


def json_answer(content: Mapping[str, Any], status: int) -> Answer:
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return Answer(status, _headers(body), body)


def _headers(body: bytes) -> Headers:
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", str(uuid.uuid4()).encode()),
        (b"x-amz-crc32", b"%d" % zlib.crc32(body)),
    ]


def _qualified(code: str) -> str:
    if code in DYNAMODB_CODES:
        return DYNAMODB + code
    return (AVAILABILITY if code == "ThrottlingException" else CORAL) + code
