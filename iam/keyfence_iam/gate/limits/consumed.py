"""What the engine says that a call consumed: asked for where the caller did not, and then kept from the caller."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.request import Request

ASKING = "ReturnConsumedCapacity"
TOLD = "ConsumedCapacity"
_REPLACED = frozenset({b"content-length", b"x-amz-crc32"})


def wants_to_know(parameters: Mapping[str, Any]) -> bool:
    return parameters.get(ASKING) not in {None, "NONE"}


def asking(request: Request, parameters: Mapping[str, Any]) -> Request:
    """The body byte for byte behind the one parameter that is put before it; the answer has to be readable here."""
    headers = [header for header in request.headers if header[0] != b"accept-encoding"]
    if ASKING not in parameters:
        body = b'{"%s":"TOTAL",' % ASKING.encode() + request.body[request.body.index(b"{") + 1 :]
    else:
        body = request.body if wants_to_know(parameters) else orjson.dumps({**parameters, ASKING: "TOTAL"})
    return replace(request, headers=headers, body=body)


def rewritten(request: Request, parameters: Mapping[str, Any]) -> Request:
    return asking(replace(request, body=orjson.dumps(parameters)), parameters)


def content_of(answer: Answer) -> dict[str, Any]:
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def with_content(answer: Answer, content: Mapping[str, Any]) -> Answer:
    body = orjson.dumps(content)
    kept = [header for header in answer.headers if header[0].lower() not in _REPLACED]
    sized = [(b"content-length", b"%d" % len(body)), (b"x-amz-crc32", b"%d" % zlib.crc32(body))]
    return Answer(answer.status, [*kept, *sized], body)


def reported(content: Mapping[str, Any], name: str = "CapacityUnits") -> float:
    return float(sum(part.get(name) or 0 for part in parts(content)))


def parts(content: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """One for each table; of a call on one table there is but one, and no list."""
    told = content.get(TOLD)
    found = told if isinstance(told, list) else [told]
    return [part for part in found if isinstance(part, Mapping)]
