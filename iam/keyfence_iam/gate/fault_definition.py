"""`Fault`: describes a fault to inject. `parse_faults_json`: parses faults, and rejects unknown members."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from keyfence_iam import strict_json
from keyfence_iam.authorization import SUPPORTED_OPERATIONS
from keyfence_iam.gate.http.query_protocol import IAM_OPERATIONS, STS_OPERATIONS

FaultKind = Literal["latency", "error", "throttle", "lost_request", "lost_response"]
FaultService = Literal["dynamodb", "sts", "iam"]


class InvalidFault(ValueError):
    """A fault that is not valid, or a document that is not JSON.

    If a value in the document is invalid, the message begins with the JSON path of this value.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error or delay that the gate injects into calls.

    `service`, `operation` and `key_prefix` say to which calls the fault applies. Only these calls are counted. At most
    one of `nth`, `every` and `probability` is set: it selects the counted calls that get the fault. If none of the
    three is set, every counted call gets the fault. `times` limits the number of injected faults.
    """

    kind: FaultKind
    """`lost_request` closes the connection before the call is executed, `lost_response` afterwards."""
    service: FaultService = "dynamodb"
    operation: str = "*"
    """The name of an operation, or `*` for all operations of the service."""
    key_prefix: str | None = None
    """The fault only applies to calls with a partition key that begins with this prefix. None means all calls."""
    nth: int | None = None
    """Only the call with this number gets the fault. The first call has the number 1."""
    every: int | None = None
    """A call gets the fault if its number is a multiple of `every`."""
    probability: float | None = None
    """The share of calls that get the fault, from 0 to 1."""
    seed: int = 0
    """The seed of the random numbers for `probability`. With the same seed, a test selects the same calls again."""
    times: int | None = None
    """The fault is injected at most this often. None means without a limit."""
    milliseconds: float = 0
    """The delay of the kind `latency`."""
    code: str | None = None
    message: str | None = None
    status: int | None = None
    """The error code, the message and the HTTP status of the response. None means the default of the service."""

    def applies_to(self, service: str, operation: str, partition_keys: tuple[str, ...]) -> bool:
        return (
            self.service == service
            and self.operation in {"*", operation}
            and (self.key_prefix is None or any(key.startswith(self.key_prefix) for key in partition_keys))
        )


def parse_faults_json(document: bytes) -> tuple[Fault, ...]:
    """Parses a JSON text that contains a list of faults. Raises InvalidFault."""
    try:
        return parse_faults(strict_json.parse(document))
    except strict_json.InvalidJson as error:
        raise InvalidFault(str(error)) from error


def parse_faults(document: object, path: str = "faults") -> tuple[Fault, ...]:
    """Parses a list of faults, which is a JSON value. `path` begins the JSON paths in messages. Raises InvalidFault."""
    if not isinstance(document, list):
        raise InvalidFault(f"{path}: must be a list of faults")
    return tuple(_parse_fault(value, f"{path}[{number}]") for number, value in enumerate(document))


def _parse_fault(value: object, path: str) -> Fault:
    if not isinstance(value, Mapping):
        raise InvalidFault(f"{path}: must be an object")
    if "kind" not in value:
        raise InvalidFault(f"{path}.kind: is missing")
    for name, member in value.items():
        _check_member(name, member, f"{path}.{name}")
    _check_operation(value, path)
    _check_combination(value, path)
    return Fault(**value)


def _check_member(name: str, value: object, path: str) -> None:
    if name not in _MEMBERS:
        raise InvalidFault(f"{path}: is unknown; the members of a fault are {', '.join(_MEMBERS)}")
    expected, is_valid = _MEMBERS[name]
    if not is_valid(value):
        raise InvalidFault(f"{path}: must be {expected}")


def _check_operation(fault: Mapping[str, Any], path: str) -> None:
    service, operation = fault.get("service", "dynamodb"), fault.get("operation", "*")
    if operation != "*" and operation not in _OPERATIONS_BY_SERVICE[service]:
        raise InvalidFault(f"{path}.operation: the gate does not support the operation {operation} of {service}")


def _check_combination(fault: Mapping[str, Any], path: str) -> None:
    kind = fault["kind"]
    members_of_some_kinds = fault.keys() - _MEMBERS_OF_ALL_KINDS
    if wrong_members := sorted(members_of_some_kinds - _MEMBERS_BY_KIND.get(kind, frozenset())):
        raise InvalidFault(f"{path}.{wrong_members[0]}: has no meaning for the kind {kind}")
    if kind == "latency" and "milliseconds" not in fault:
        raise InvalidFault(f"{path}.milliseconds: is missing")
    if len(fault.keys() & {"nth", "every", "probability"}) > 1:
        raise InvalidFault(f"{path}: has more than one of nth, every and probability")
    if "seed" in fault and "probability" not in fault:
        raise InvalidFault(f"{path}.seed: has no meaning without a probability")
    service = fault.get("service", "dynamodb")
    if "key_prefix" in fault and service != "dynamodb":
        raise InvalidFault(f"{path}.key_prefix: has no meaning for the service {service}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_OPERATIONS_BY_SERVICE: Mapping[str, frozenset[str]] = {
    "dynamodb": SUPPORTED_OPERATIONS,
    "sts": STS_OPERATIONS,
    "iam": IAM_OPERATIONS,
}
_MEMBERS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "kind": (f"one of {', '.join(get_args(FaultKind))}", lambda value: value in get_args(FaultKind)),
    "service": (f"one of {', '.join(get_args(FaultService))}", lambda value: value in get_args(FaultService)),
    "operation": ("the name of an operation, or *", _is_text),
    "key_prefix": ("the beginning of a partition key", _is_text),
    "nth": ("a whole number from 1", _is_count),
    "every": ("a whole number from 1", _is_count),
    "probability": ("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1),
    "seed": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "times": ("a whole number from 1", _is_count),
    "milliseconds": ("a number from 0 to 600000", lambda value: _is_number(value) and 0 <= value <= 600_000),
    "code": ("the name of an error", _is_text),
    "message": ("a text", _is_text),
    "status": ("an HTTP status from 400 to 599", lambda value: _is_count(value) and 400 <= value <= 599),
}
"""The members of a fault by name, each with a description of its valid values and a function that checks a value."""
_MEMBERS_BY_KIND: Mapping[str, frozenset[str]] = {
    "latency": frozenset({"milliseconds"}),
    "error": frozenset({"code", "message", "status"}),
    "throttle": frozenset({"code", "message"}),
}
"""The members that only some kinds of faults have, by kind."""
_MEMBERS_OF_ALL_KINDS = _MEMBERS.keys() - frozenset().union(*_MEMBERS_BY_KIND.values())
