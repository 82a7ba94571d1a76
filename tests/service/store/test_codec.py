"""Stored values are read back exactly. Values that could not be read back exactly are refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NewType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.codec import attribute_name, decode_model, encode, encode_model
from tests.data.model_strategies import TEXT, TIMES, models

Sku = NewType("Sku", str)


class Colour(StrEnum):
    RED = "RED"
    GREEN = "GREEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A dataclass that is a field of another dataclass."""

    words: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """One field of every type that can be stored."""

    sku: Sku
    whole: int
    exact: Decimal
    yes: bool
    colour: Colour
    day: date
    at: datetime
    inner: Inner
    many: tuple[Inner, ...]
    named: Mapping[str, Decimal]
    nested: Mapping[str, Mapping[str, Colour]]
    maybe_text: str | None = None
    maybe_at: datetime | None = None
    maybe_inner: Inner | None = None
    maybe_no: bool | None = None
    words: frozenset[str] = frozenset()


def model_with_fields(**fields: Any) -> Any:
    """Returns a dataclass with fields of these types."""
    return dataclass(frozen=True)(type("Kept", (), {"__annotations__": fields}))


@given(models(Everything, sku=st.text()))
def test_every_type_of_value_is_read_back_exactly(one: Everything) -> None:
    assert decode_model(Everything, encode_model(one)) == one


@given(models(Everything))
def test_absent_values_are_not_stored(one: Everything) -> None:
    item = encode_model(one)
    assert ("maybeText" in item) == (one.maybe_text is not None)
    assert ("words" in item) == bool(one.words)
    assert "NULL" not in {kind for value in item.values() for kind in value}


@given(models(Everything))
def test_only_the_wire_types_of_dynamodb_are_used(one: Everything) -> None:
    def check(value: dict[str, Any]) -> None:
        ((kind, inside),) = value.items()
        types: dict[str, type] = {"S": str, "N": str, "BOOL": bool, "SS": list, "L": list, "M": dict}
        assert type(inside) is types[kind]
        parts: dict[str, Any] = {"L": inside, "M": inside.values() if isinstance(inside, dict) else ()}
        for part in parts.get(kind, ()):
            check(part)

    check({"M": encode_model(one)})


def test_false_zero_and_empty_text_are_stored() -> None:
    model = model_with_fields(no=bool, zero=int, blank=str, none=tuple[str, ...])
    one = model(no=False, zero=0, blank="", none=())
    assert decode_model(model, encode_model(one)) == one
    assert encode_model(one) == {"no": {"BOOL": False}, "zero": {"N": "0"}, "blank": {"S": ""}, "none": {"L": []}}


@given(TIMES)
def test_a_time_is_stored_in_utc_with_microseconds(at: datetime) -> None:
    model = model_with_fields(at=datetime)
    found = decode_model(model, encode_model(model(at=at)))
    assert found.at == at
    assert found.at.tzinfo is UTC


@pytest.mark.parametrize("year", [1, 999])
def test_a_time_of_long_ago_is_read_back(year: int) -> None:
    model = model_with_fields(at=datetime)
    one = model(at=datetime(year, 1, 1, tzinfo=UTC))
    assert decode_model(model, encode_model(one)) == one


@pytest.mark.parametrize(
    "value", [1.5, b"raw", object(), {"a", "b"}, float("nan")], ids=lambda value: type(value).__name__
)
def test_a_value_that_cannot_be_read_back_exactly_cannot_be_stored(value: object) -> None:
    with pytest.raises(TypeError, match="cannot store"):
        encode(value)


@pytest.mark.parametrize("hint", [float, bytes, object, set[str], list[str], Any], ids=repr)
def test_a_field_that_cannot_be_read_back_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError):
        decode_model(model_with_fields(odd=hint), {})


def test_an_optional_field_without_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="must be its default"):
        decode_model(model_with_fields(note=str | None), {})


def test_a_set_without_a_default_is_refused_because_an_empty_set_is_not_stored() -> None:
    with pytest.raises(TypeError, match="must be its default"):
        decode_model(model_with_fields(words=frozenset[str]), {"words": {"SS": ["a"]}})


def test_a_default_that_differs_from_the_absent_value_is_refused() -> None:
    """None is stored as no attribute, and would be read back as the default."""

    @dataclass(frozen=True)
    class Mistaken:
        note: str | None = "unknown"

    @dataclass(frozen=True)
    class MistakenSet:
        words: frozenset[str] = field(default_factory=lambda: frozenset({"some"}))

    for model in (Mistaken, MistakenSet):
        with pytest.raises(TypeError, match="must be its default"):
            decode_model(model, {})


def test_none_inside_a_list_or_a_map_is_read_back_or_refused() -> None:
    model = model_with_fields(words=tuple[str | None, ...], named=Mapping[str, str | None])
    one = model(words=("a", None), named={"a": None})
    try:
        found = decode_model(model, encode_model(one))
    except TypeError:
        return
    assert found == one


@given(TEXT)
def test_attributes_that_the_dataclass_does_not_have_are_ignored(text: str) -> None:
    assert (
        decode_model(model_with_fields(id=str), {"id": {"S": text}, "GSI1PK": {"S": "x"}, "later": {"N": "1"}}).id
        == text
    )


def test_attribute_names_are_in_camel_case() -> None:
    names = ["id", "created_at", "member_count", "setting_names"]
    assert [attribute_name(name) for name in names] == ["id", "createdAt", "memberCount", "settingNames"]
