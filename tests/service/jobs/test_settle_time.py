"""The settle time covers everything that a server may still do with a tenant as it was before a change."""

from itertools import product

import pytest

from keyfence.settings import Settings, load_settings

PARTS = ("tenant_cache_seconds", "tenant_use_seconds", "connect_timeout_seconds", "read_timeout_seconds")


def test_no_setting_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [name for name in Settings.model_fields if "settle" in name]
    before = load_settings().settle_seconds
    monkeypatch.setenv("KEYFENCE_SETTLE_SECONDS", "0")
    assert load_settings().settle_seconds == before
    assert load_settings(settle_seconds=0.0).settle_seconds == before


@pytest.mark.parametrize("values", list(product((0.5, 40.0), repeat=len(PARTS))))
def test_it_is_the_sum_of_the_times_that_make_it_safe(values: tuple[float, ...]) -> None:
    settings = Settings.model_validate(dict(zip(PARTS, values, strict=True)))
    assert settings.settle_seconds == sum(values)
