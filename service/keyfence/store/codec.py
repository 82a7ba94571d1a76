"""Dataclass to item and back; amounts as text; item size; TTL."""

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

Value = dict[str, Any]
Item = dict[str, Value]
M = TypeVar("M")

SMALLEST, LARGEST = -130, 125

_EXACT = Context(prec=38, Emin=-999, Emax=999, traps=[InvalidOperation, Overflow, Underflow, Inexact, Rounded])


@cache
def attribute_name(name: str) -> str:
    """`created_at` is kept as `createdAt`."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def encode(value: object) -> Value:  # noqa: PLR0911  (one line per kind of value)
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
    raise TypeError(f"cannot keep a {type(value).__name__}")


def encode_model(model: object) -> Item:
    """The attributes of a dataclass; what is None or an empty set is left out, as DynamoDB wants it."""
    kind: Any = type(model)
    return {
        name: encode(value)
        for field, name in _names(kind)
        if (value := getattr(model, field)) is not None and value != frozenset()
    }


def decode_model(model: type[M], item: Mapping[str, Value]) -> M:
    kind: Any = model
    return model(**{field: read(item[name]) for field, name, read in _readers(kind) if name in item})


@cache
def _names(model: Any) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, attribute_name(field.name)) for field in fields(model))


@cache
def _readers(model: Any) -> tuple[tuple[str, str, Callable[[Value], Any]], ...]:
    hints = get_type_hints(model)
    for field in fields(model):
        if not _comes_back(hints[field.name], field):
            raise TypeError(f"{model.__name__}.{field.name} may be absent and so needs a default that is empty")
    return tuple((name, kept, _reader(hints[name])) for name, kept in _names(model))


def _comes_back(hint: Any, field: Field[Any]) -> bool:
    """What is kept as nothing, None or an empty set, has to be what nothing is read as."""
    if type(None) not in get_args(hint) and get_origin(hint) is not frozenset:
        return True
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is None or default == frozenset()


def _reader(hint: Any) -> Callable[[Value], Any]:
    if isinstance(hint, NewType):
        return _reader(hint.__supertype__)
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return _reader(next(arg for arg in args if arg is not type(None)))
    if origin is frozenset:
        return lambda value: frozenset(value["SS"])
    if origin is tuple:
        part = _reader(_never_none(args[0]))
        return lambda value: tuple(part(one) for one in value["L"])
    if origin is not None and issubclass(origin, Mapping):
        of = _reader(_never_none(args[1]))
        return lambda value: {key: of(one) for key, one in value["M"].items()}
    return _scalar(hint)


def _never_none(hint: Any) -> Any:
    if type(None) in get_args(hint):
        raise TypeError(f"a list or a map cannot hold {hint}: leave out what is not there")
    return hint


def _scalar(hint: Any) -> Callable[[Value], Any]:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value: hint(value["S"])
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: decode_model(hint, value["M"])
    raise TypeError(f"cannot read a {hint} back")


def _instant(value: Value) -> datetime:
    return datetime.fromisoformat(value["S"])


_SCALARS: Mapping[Any, Callable[[Value], Any]] = {
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
    if not exact.is_finite() or (exact and not SMALLEST <= exact.adjusted() <= LARGEST):
        raise BadInput("a number may have 38 significant digits and be from 1E-130 to below 1E126") from None
    return format(exact, "f")


def amount_text(amount: Decimal) -> str:
    """With two decimals, or as many as it takes: equal amounts are equal texts, though DynamoDB, which keeps no
    trailing zeros, returns 10 for 10.00."""
    whole, _, rest = format(amount, "f").partition(".")
    return f"{whole}.{rest.rstrip('0'):0<2}"


TTL = "ttl"


def has_expired(item: Item, clock: Callable[[], float] = time.time) -> bool:
    return TTL in item and float(item[TTL]["N"]) <= clock()
