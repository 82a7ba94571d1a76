"""Converts dataclasses to DynamoDB items and back; reads the key and the expiry of an item."""

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
"""A value as DynamoDB's JSON has it, such as {"S": "text"}."""
Item = dict[str, AttributeValue]
"""The attributes of an item, by name."""
Decoder = Callable[[AttributeValue], Any]
"""A function that returns the Python value of an attribute."""
M = TypeVar("M")

TTL_ATTRIBUTE = "ttl"
"""The time to live: when DynamoDB may delete the item, in seconds since 1970."""
_MIN_EXPONENT, _MAX_EXPONENT = -130, 125
"""DynamoDB's limits for the exponent of a number."""
_EXACT_CONTEXT = Context(prec=38, Emin=-999, Emax=999, traps=[InvalidOperation, Overflow, Underflow, Inexact, Rounded])
"""A decimal context that raises an error instead of rounding. DynamoDB's limit is 38 digits."""


@cache
def attribute_name(name: str) -> str:
    """Returns the attribute name of a field: `createdAt` for `created_at`."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def encode(value: object) -> AttributeValue:  # noqa: PLR0911  (one line for each type of value)
    """Returns a Python value as DynamoDB stores it. Raises TypeError for a type that cannot be stored."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": str(value)}
        case int() | Decimal():
            return {"N": _number_text(value)}
        case datetime():
            return {"S": timestamp_text(value)}
        case date():
            return {"S": value.isoformat()}
        case frozenset():
            return {"SS": sorted(value)}
        case tuple() | list():
            return {"L": [encode(element) for element in value]}
        case Mapping():
            return {"M": {str(key): encode(element) for key, element in value.items()}}
    if is_dataclass(value):
        return {"M": encode_model(value)}
    raise TypeError(f"cannot store a {type(value).__name__}")


def encode_model(model: object) -> Item:
    """Returns the attributes of a dataclass. A field that is None or an empty set has no attribute: DynamoDB cannot
    store an empty set, and a missing attribute takes no space."""
    model_type: Any = type(model)
    return {
        name: encode(value)
        for field, name in _fields_and_attributes(model_type)
        if (value := getattr(model, field)) is not None and value != frozenset()
    }


def decode_model(model: type[M], item: Mapping[str, AttributeValue]) -> M:
    """Returns the dataclass of an item. A field whose attribute is missing gets its default."""
    model_type: Any = model
    decoders = _field_decoders(model_type)
    return model(**{field: decode(item[name]) for field, name, decode in decoders if name in item})


@cache
def _fields_and_attributes(model: Any) -> tuple[tuple[str, str], ...]:
    """Returns the name of each field with the name of its attribute."""
    return tuple((field.name, attribute_name(field.name)) for field in fields(model))


@cache
def _field_decoders(model: Any) -> tuple[tuple[str, str, Decoder], ...]:
    """Returns the name of each field with the name and the decoder of its attribute."""
    hints = get_type_hints(model)
    for field in fields(model):
        if _may_be_absent(hints[field.name]) and not has_empty_default(field):
            raise TypeError(f"{model.__name__}.{field.name} can be None or an empty set, so that must be its default")
    return tuple((name, attribute, _decoder(hints[name])) for name, attribute in _fields_and_attributes(model))


def _may_be_absent(hint: Any) -> bool:
    """Whether a value of this type can be None or an empty set. Such a value is not stored: it has no attribute."""
    return type(None) in get_args(hint) or get_origin(hint) is frozenset


def has_empty_default(field: Field[Any]) -> bool:
    """Whether the default of a field is None or an empty set: the value that an absent attribute stands for."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is None or default == frozenset()


def _decoder(hint: Any) -> Decoder:
    """Returns the decoder of a type hint. Raises TypeError for a type that cannot be stored."""
    if isinstance(hint, NewType):
        return _decoder(hint.__supertype__)
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return _decoder(next(arg for arg in args if arg is not type(None)))
    if origin is frozenset:
        return lambda value: frozenset(value["SS"])
    if origin is tuple:
        decode_element = _decoder(_checked_element_type(args[0]))
        return lambda value: tuple(decode_element(element) for element in value["L"])
    if origin is not None and issubclass(origin, Mapping):
        decode_element = _decoder(_checked_element_type(args[1]))
        return lambda value: {key: decode_element(element) for key, element in value["M"].items()}
    return _scalar_decoder(hint)


def _checked_element_type(hint: Any) -> Any:
    if type(None) in get_args(hint):
        raise TypeError(f"the elements of a list or a map cannot be None: {hint}")
    return hint


def _scalar_decoder(hint: Any) -> Decoder:
    if hint in _SCALAR_DECODERS:
        return _SCALAR_DECODERS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value: hint(value["S"])
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: decode_model(hint, value["M"])
    raise TypeError(f"cannot decode a {hint}")


_SCALAR_DECODERS: Mapping[Any, Decoder] = {
    str: lambda value: value["S"],
    int: lambda value: int(value["N"]),
    bool: lambda value: value["BOOL"],
    Decimal: lambda value: Decimal(value["N"]),
    datetime: lambda value: datetime.fromisoformat(value["S"]),
    date: lambda value: date.fromisoformat(value["S"]),
}


def _number_text(value: int | Decimal) -> str:
    try:
        exact = _EXACT_CONTEXT.create_decimal(value)
    except DecimalException:
        exact = Decimal("NaN")  # the next line rejects NaN
    if not exact.is_finite() or (exact and not _MIN_EXPONENT <= exact.adjusted() <= _MAX_EXPONENT):
        message = "a number may have at most 38 digits, and its absolute value must be 0 or from 1E-130 to below 1E126"
        raise BadInput(message) from None
    return format(exact, "f")


def amount_text(amount: Decimal) -> str:
    """Returns an amount as text with two decimals, or more if the amount has more.

    DynamoDB stores no trailing zeros and returns 10 for 10.00. This function returns the text 10.00 for both."""
    integer, _, decimals = format(amount, "f").partition(".")
    return f"{integer}.{decimals.rstrip('0'):0<2}"


def item_key(item: Item) -> tuple[str, str]:
    """Returns the partition key and the sort key of an item."""
    return item["PK"]["S"], item["SK"]["S"]


def has_expired(item: Item, clock: Callable[[], float] = time.time) -> bool:
    """Whether the time to live of an item is over. DynamoDB deletes an expired item only some time later."""
    return TTL_ATTRIBUTE in item and float(item[TTL_ATTRIBUTE]["N"]) <= clock()
