"""A fault that is made to happen, as a value that a file can hold."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from keyfence_iam import strict_json
from keyfence_iam.authorization import SUPPORTED_OPERATIONS
from keyfence_iam.gate import sts_api
from keyfence_iam.gate.http.query_protocol import IAM_OPERATIONS

Kind = Literal["latency", "error", "throttle", "lost_request", "lost_response"]
Service = Literal["dynamodb", "sts", "iam"]


class InvalidFault(ValueError):
    """A fault that cannot be understood; the message names the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to which calls: the nth, every nth, a seeded share of them, or all.

    lost_request: the connection closes before the engine acts. lost_response: it closes after the engine acted.
    """

    kind: Kind
    service: Service = "dynamodb"
    operation: str = "*"
    key_prefix: str | None = None
    nth: int | None = None
    every: int | None = None
    probability: float | None = None
    seed: int = 0
    times: int | None = None
    milliseconds: float = 0
    code: str | None = None
    message: str | None = None
    status: int | None = None

    def applies_to(self, service: str, operation: str, keys: tuple[str, ...]) -> bool:
        return (
            self.service == service
            and self.operation in {"*", operation}
            and (self.key_prefix is None or any(key.startswith(self.key_prefix) for key in keys))
        )


def parse_text(document: bytes) -> tuple[Fault, ...]:
    try:
        return parse_faults(strict_json.parse(document))
    except strict_json.InvalidJson as error:
        raise InvalidFault(str(error)) from error


def parse_faults(document: object, where: str = "faults") -> tuple[Fault, ...]:
    if not isinstance(document, list):
        raise InvalidFault(f"{where}: must be a list of faults")
    return tuple(_fault(entry, f"{where}[{number}]") for number, entry in enumerate(document))


def _fault(entry: object, where: str) -> Fault:
    if not isinstance(entry, Mapping):
        raise InvalidFault(f"{where}: must be an object")
    if "kind" not in entry:
        raise InvalidFault(f"{where}.kind: is missing")
    for name, value in entry.items():
        _check(name, value, f"{where}.{name}")
    _check_operation(entry, where)
    _check_together(entry, where)
    return Fault(**entry)


def _check(name: str, value: object, where: str) -> None:
    if name not in _RULES:
        raise InvalidFault(f"{where}: is unknown; known are {', '.join(_RULES)}")
    wanted, holds = _RULES[name]
    if not holds(value):
        raise InvalidFault(f"{where}: must be {wanted}")


def _check_operation(entry: Mapping[str, Any], where: str) -> None:
    service, operation = entry.get("service", "dynamodb"), entry.get("operation", "*")
    if operation != "*" and operation not in _OPERATIONS[service]:
        raise InvalidFault(f"{where}.operation: {operation} is no operation of {service} that the gate knows")


def _check_together(entry: Mapping[str, Any], where: str) -> None:
    kind, given = entry["kind"], entry.keys() - _EVERYWHERE
    if foreign := sorted(given - _BELONGING.get(kind, frozenset())):
        raise InvalidFault(f"{where}.{foreign[0]}: has no meaning for the kind {kind}")
    if kind == "latency" and "milliseconds" not in entry:
        raise InvalidFault(f"{where}.milliseconds: is missing")
    if len(entry.keys() & {"nth", "every", "probability"}) > 1:
        raise InvalidFault(f"{where}: has more than one of nth, every and probability")
    if "seed" in entry and "probability" not in entry:
        raise InvalidFault(f"{where}.seed: has no meaning without a probability")
    service = entry.get("service", "dynamodb")
    if "key_prefix" in entry and service != "dynamodb":
        raise InvalidFault(f"{where}.key_prefix: has no meaning for the service {service}")


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_OPERATIONS: Mapping[str, frozenset[str]] = {
    "dynamodb": SUPPORTED_OPERATIONS,
    "sts": sts_api.STS_OPERATIONS,
    "iam": IAM_OPERATIONS,
}
_RULES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "kind": (f"one of {', '.join(get_args(Kind))}", lambda value: value in get_args(Kind)),
    "service": (f"one of {', '.join(get_args(Service))}", lambda value: value in get_args(Service)),
    "operation": ("the name of an operation, or *", _text),
    "key_prefix": ("the beginning of a partition key", _text),
    "nth": ("a whole number from 1", _count),
    "every": ("a whole number from 1", _count),
    "probability": ("a number from 0 to 1", lambda value: _number(value) and 0 <= value <= 1),
    "seed": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "times": ("a whole number from 1", _count),
    "milliseconds": ("a number from 0 to 600000", lambda value: _number(value) and 0 <= value <= 600_000),
    "code": ("the name of an error", _text),
    "message": ("a text", _text),
    "status": ("an HTTP status from 400 to 599", lambda value: _count(value) and 400 <= value <= 599),
}
_BELONGING: Mapping[str, frozenset[str]] = {
    "latency": frozenset({"milliseconds"}),
    "error": frozenset({"code", "message", "status"}),
    "throttle": frozenset({"code", "message"}),
}
_EVERYWHERE = _RULES.keys() - frozenset().union(*_BELONGING.values())
