"""The two tiers of the test suite: `pytest` runs the default tier, `pytest --all` runs the full tier."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import settings


class Tier(StrEnum):
    """DEFAULT is for each change: one engine, some cases of each matrix. FULL is for CI: both engines, all cases."""

    DEFAULT = "default"
    FULL = "full"


_selected_tier = Tier.DEFAULT


def select(tier: Tier) -> None:
    """Sets the tier of this process. `tests/conftest.py` calls it before any test module is imported."""
    global _selected_tier  # noqa: PLW0603
    _selected_tier = tier
    settings.register_profile(tier, deadline=None, max_examples=size(default=30, full=100))
    settings.load_profile(tier)


def selected() -> Tier:
    return _selected_tier


def size(*, default: int, full: int) -> int:
    """Returns the number for the selected tier: of items, tenants or examples in a test."""
    return full if _selected_tier is Tier.FULL else default


def examples(full: int, **other_settings: Any) -> settings:
    """Returns hypothesis settings for this many examples in the full tier, and for a third of them by default."""
    return settings(max_examples=size(default=full // 3, full=full), deadline=None, **other_settings)


def cases(values: Iterable[Any], *, default: Iterable[Any], reason: str) -> list[Any]:
    """Returns the values as test parameters. Values that are not in `default` run only in the full tier."""
    default_values = list(default)
    full_tier_mark = pytest.mark.full(reason)
    return [value if value in default_values else _param(value, full_tier_mark) for value in values]


def _param(value: Any, mark: pytest.MarkDecorator) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=mark)
