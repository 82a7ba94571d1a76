"""The two tiers of the suite: `pytest` runs the default tier, `pytest --all` the full one."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import settings


class Tier(StrEnum):
    """DEFAULT is for each change: one engine and at least one case of each proof. FULL is for CI: every case."""

    DEFAULT = "default"
    FULL = "full"


_selected = Tier.DEFAULT


def select(tier: Tier) -> None:
    """Sets the tier of this process. `tests/conftest.py` calls it before any test module is imported."""
    global _selected  # noqa: PLW0603
    _selected = tier
    settings.register_profile(tier, deadline=None, max_examples=size(default=30, full=100))
    settings.load_profile(tier)


def selected() -> Tier:
    return _selected


def size(*, default: int, full: int) -> int:
    """Returns how many items, tenants or examples a test takes in this tier."""
    return full if _selected is Tier.FULL else default


def examples(full: int, **others: Any) -> settings:
    """Returns hypothesis settings for this many examples in the full tier, and for a third of them by default."""
    return settings(max_examples=size(default=full // 3, full=full), deadline=None, **others)


def cases(values: Iterable[Any], *, default: Iterable[Any], reason: str) -> list[Any]:
    """Returns the values as test parameters. Those that are not in `default` run in the full tier alone."""
    both = list(default)
    full = pytest.mark.full(reason)
    return [value if value in both else _param(value, full) for value in values]


def _param(value: Any, mark: pytest.MarkDecorator) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=mark)
