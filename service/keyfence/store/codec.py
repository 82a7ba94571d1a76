"""Dataclasses to DynamoDB items and back; the key and the expiry of an item."""

import time
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow, Rounded, Underflow
from enum import StrEnum
from functools import cache
from typing import Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from keyfence.errors import BadInput
from keyfence.store.timestamps import timestamp_text

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]
M = TypeVar("M")

TTL = "ttl"
_MIN_EXPONENT, _MAX_EXPONENT = -130, 125
_EXACT = Context(prec=38, Emin=-999, Emax=999, traps=[InvalidOperation, Overflow, Underflow, Inexact, Rounded])


@cache
def attribute_name(name: str) -> str:
    """Returns the name of a field's attribute: `createdAt` for `created_at`."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def encode(value: object) -> AttributeValue:  # noqa: PLR0911  (one line for each type of value)
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": str(value)}
        case int() | Decimal():
            return {"N": _number(value)}
        case datetime():
            return {"S": timestamp_text(value)}
        case date():
            return {"S": value.isoformat()}
        case frozenset():
            return {"SS": sorted(value)}
        case tuple() | list():
            return {"L": [encode(part) for part in value]}
        case Mapping():
            return {"M": {str(key): encode(part) for key, part in value.items()}}
    if is_dataclass(value):
        return {"M": encode_model(value)}
    raise TypeError(f"cannot store a {type(value).__name__}")


def encode_model(model: object) -> Item:
    """Returns the attributes of a dataclass, without those that are None or an empty set (which DynamoDB lacks)."""
    kind: Any = type(model)
    return {
        name: encode(value)
        for field, name in _names(kind)
        if (value := getattr(model, field)) is not None and value != frozenset()
    }


def decode_model(model: type[M], item: Mapping[str, AttributeValue]) -> M:
    kind: Any = model
    return model(**{field: read(item[name]) for field, name, read in _readers(kind) if name in item})


@cache
def _names(model: Any) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, attribute_name(field.name)) for field in fields(model))


@cache
def _readers(model: Any) -> tuple[tuple[str, str, Callable[[AttributeValue], Any]], ...]:
    hints = get_type_hints(model)
    for field in fields(model):
        if not _survives_absence(hints[field.name], field):
            raise TypeError(
                f"{model.__name__}.{field.name} may be absent and so needs None or an empty set as its default"
            )
    return tuple((name, attribute, _reader(hints[name])) for name, attribute in _names(model))


def _survives_absence(hint: Any, field: Field[Any]) -> bool:
    """Whether a value that is stored as no attribute (None or an empty set) is also the default that is read back."""
    if type(None) not in get_args(hint) and get_origin(hint) is not frozenset:
        return True
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is None or default == frozenset()


def _reader(hint: Any) -> Callable[[AttributeValue], Any]:
    if isinstance(hint, NewType):
        return _reader(hint.__supertype__)
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return _reader(next(arg for arg in args if arg is not type(None)))
    if origin is frozenset:
        return lambda value: frozenset(value["SS"])
    if origin is tuple:
        part = _reader(_never_none(args[0]))
        return lambda value: tuple(part(element) for element in value["L"])
    if origin is not None and issubclass(origin, Mapping):
        read = _reader(_never_none(args[1]))
        return lambda value: {key: read(element) for key, element in value["M"].items()}
    return _scalar(hint)


def _never_none(hint: Any) -> Any:
    if type(None) in get_args(hint):
        raise TypeError(f"the elements of a list or a map cannot be None: {hint}")
    return hint


def _scalar(hint: Any) -> Callable[[AttributeValue], Any]:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value: hint(value["S"])
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: decode_model(hint, value["M"])
    raise TypeError(f"cannot decode a {hint}")


def _instant(value: AttributeValue) -> datetime:
    return datetime.fromisoformat(value["S"])


_SCALARS: Mapping[Any, Callable[[AttributeValue], Any]] = {
    str: lambda value: value["S"],
    int: lambda value: int(value["N"]),
    bool: lambda value: value["BOOL"],
    Decimal: lambda value: Decimal(value["N"]),
    datetime: _instant,
    date: lambda value: date.fromisoformat(value["S"]),
}


def _number(value: int | Decimal) -> str:
    try:
        exact = _EXACT.create_decimal(value)
    except DecimalException:
        exact = Decimal("NaN")
    if not exact.is_finite() or (exact and not _MIN_EXPONENT <= exact.adjusted() <= _MAX_EXPONENT):
        raise BadInput("a number may have 38 significant digits and be from 1E-130 to below 1E126") from None
    return format(exact, "f")


def amount_text(amount: Decimal) -> str:
    """Returns an amount with two decimals, or with more if it has more. Equal amounts have equal texts, although
    DynamoDB stores no trailing zeros and returns 10 for 10.00."""
    integer, _, decimals = format(amount, "f").partition(".")
    return f"{integer}.{decimals.rstrip('0'):0<2}"


def item_key(item: Item) -> tuple[str, str]:
    """Returns the partition key and the sort key of an item."""
    return item["PK"]["S"], item["SK"]["S"]


def has_expired(item: Item, clock: Callable[[], float] = time.time) -> bool:
    return TTL in item and float(item[TTL]["N"]) <= clock()
