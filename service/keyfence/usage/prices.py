"""What units cost: one stated price table for all tenants."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from keyfence.settings import Settings

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars for a million request units, on demand, standard table class."""

    region: str
    as_of: date
    read: Decimal
    write: Decimal

    def of(self, read_units: Decimal | float, write_units: Decimal | float) -> Decimal:
        return (Decimal(read_units) * self.read + Decimal(write_units) * self.write) / MILLION


LISTED = Prices(region="us-east-1", as_of=date(2024, 11, 1), read=Decimal("0.125"), write=Decimal("0.625"))
"""As listed since DynamoDB's on-demand throughput became cheaper."""


def prices_in(settings: Settings) -> Prices:
    return Prices(**settings.prices.model_dump()) if settings.prices else LISTED
