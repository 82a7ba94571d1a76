"""Hypothesis strategies for any model of an entity, from the type hints of its dataclass."""

import types
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from keyfence.store.shards import MAX_SHARDS, MoveDirection, ShardCounts

M = TypeVar("M")

TRICKY = st.text("#%&$ \"'\\/|2357F~az\x00\x1f\x7f\x80é\uffff🙂", min_size=1, max_size=8)
SHORT = st.text("ab#%", min_size=1, max_size=3)
NEIGHBOURS = st.sampled_from(["TENANT#acme#", "CONTROL#", "acme", "acmecorp", "%23", "%", "#", "00"])
TEXT = SHORT | TRICKY | NEIGHBOURS | st.text(min_size=1, max_size=12)
EMAILS = st.builds(
    "{}@{}".format, st.text("aA#%é🙂", min_size=1, max_size=3), st.sampled_from(["b", "B", "bücher.example"])
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))])
TIMES = st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9999, 12, 30), timezones=ZONES)

_SCALARS: dict[Any, SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 999),
    bool: st.booleans(),
    Decimal: st.decimals(0, 999, places=2),
    datetime: TIMES,
    date: st.dates(),
}


def shard_counts() -> SearchStrategy[ShardCounts]:
    """Shard counts with at least as many shards to read as to write."""
    some = st.integers(1, MAX_SHARDS)
    return st.builds(
        lambda one, other, former, moving: ShardCounts(
            read_shards=max(one, other),
            write_shards=min(one, other),
            former_write_shards=tuple(sorted(former)),
            move_direction=moving,
        ),
        some,
        some,
        st.sets(some, max_size=3),
        st.none() | st.sampled_from(MoveDirection),
    )


_SCALARS[ShardCounts] = shard_counts()


@st.composite
def cuts(draw: st.DrawFn) -> tuple[tuple[str, str], tuple[str, str]]:
    """The same text, split at two places. A key without separators would confuse the two."""
    text = draw(st.text("ab#%2357", min_size=3, max_size=6))
    one, other = (draw(st.integers(1, len(text) - 1)) for _ in range(2))
    return (text[:one], text[one:]), (text[:other], text[other:])


def models(kind: type[M], **given: SearchStrategy[Any]) -> SearchStrategy[M]:
    dataclass: Any = kind
    hints, made = get_type_hints(kind), fields(dataclass)
    emails = {one.name: EMAILS for one in made if one.name == "email"}
    return st.builds(kind, **{one.name: values(hints[one.name]) for one in made} | emails | given)


def values(hint: Any) -> SearchStrategy[Any]:
    if isinstance(hint, NewType):
        return values(hint.__supertype__)
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return st.one_of(*(st.none() if arg is type(None) else values(arg) for arg in args))
    if origin is frozenset:
        return st.frozensets(values(args[0]), max_size=3)
    if origin is tuple:
        return st.lists(values(args[0]), min_size=1, max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, values(args[1]), max_size=3)
    return _scalar(hint)


def _scalar(hint: Any) -> SearchStrategy[Any]:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    return _SCALARS[hint] if hint in _SCALARS else models(hint)
