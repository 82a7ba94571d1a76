"""The cost of usage is exact, with default prices or with the prices of the settings."""

from datetime import date
from decimal import Decimal

import pytest

from keyfence import settings
from keyfence.usage.hourly_usage import DEFAULT_PRICES, PriceTable, price_table


@pytest.mark.parametrize(
    ("reads", "writes", "usd"),
    [(0, 0, "0"), (1_000_000, 0, "0.125"), (0, 1_000_000, "0.625"), (0.5, 1, "0.0000006875"), (3, 0, "0.000000375")],
)
def test_default_prices_are_for_a_million_units(reads: float, writes: float, usd: str) -> None:
    assert DEFAULT_PRICES.cost(reads, writes) == Decimal(usd)
    assert (DEFAULT_PRICES.region, DEFAULT_PRICES.as_of) == ("us-east-1", date(2024, 11, 1))


def test_prices_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_table(settings.Settings()) is DEFAULT_PRICES
    prices = '{"region": "eu-west-1", "as_of": "2026-01-02", "read": 0.1415, "write": "0.7076"}'
    monkeypatch.setenv("KEYFENCE_PRICES", prices)
    assert price_table(settings.load_settings()) == PriceTable(
        region="eu-west-1", as_of=date(2026, 1, 2), read=Decimal("0.1415"), write=Decimal("0.7076")
    )


@pytest.mark.parametrize(
    "invalid", ["nonsense", "{}", '{"region": "x", "as_of": "2026-01-02", "read": -1, "write": 1}']
)
def test_invalid_prices_are_refused_with_the_name_of_the_setting(monkeypatch: pytest.MonkeyPatch, invalid: str) -> None:
    monkeypatch.setenv("KEYFENCE_PRICES", invalid)
    with pytest.raises(settings.BadSettings, match="KEYFENCE_PRICES"):
        settings.load_settings()
