"""The demo tenants and their accounts, with ids that are the same on every machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from ulid import ULID

from keyfence.local.shops import ACME, GLOBEX, Shop

FIRST_DAY = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTenant:
    """A tenant to look at: accounts in the order in which they came, the first of them its owner, and a shop."""

    name: str
    tier: str
    domain: str
    people: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    shop: Shop

    def arrival(self, person: str) -> datetime:
        return FIRST_DAY + timedelta(days=3 * self.people.index(person), minutes=17 * self.people.index(person))

    def id_of(self, prefix: str, name: str, moment: datetime) -> str:
        random = sha256(f"{self.domain}/{prefix}/{name}".encode()).digest()[:10]
        return f"{prefix}_{ULID.from_bytes(int(moment.timestamp() * 1000).to_bytes(6, 'big') + random)}"

    def user_id(self, person: str) -> str:
        return self.id_of("usr", person, self.arrival(person))

    def email(self, person: str) -> str:
        return f"{person.lower().replace(' ', '-')}@{self.domain}"

    @property
    def owner(self) -> str:
        return self.user_id(self.people[0])


_ACME = (
    "Store owner",
    "Office admin",
    "Order desk",
    "Warehouse north",
    "Warehouse south",
    "Returns desk",
    "Billing desk",
    "Support day shift",
    "Support night shift",
    "Catalogue editor",
    "Courier desk",
    "Auditor",
)

TENANTS: Mapping[str, DemoTenant] = {
    "acme": DemoTenant(
        name="Acme Corporation",
        tier="STANDARD",
        domain="acme.example",
        people=_ACME,
        groups={
            "Everyone": _ACME,
            "Fulfilment": ("Warehouse north", "Warehouse south", "Courier desk", "Returns desk"),
            "Office": ("Office admin", "Billing desk", "Catalogue editor", "Auditor"),
            "Support": ("Support day shift", "Support night shift", "Order desk", "Returns desk"),
        },
        shop=ACME,
    ),
    "globex": DemoTenant(
        name="Globex",
        tier="FREE",
        domain="globex.example",
        people=("Founder", "Workshop", "Front desk"),
        groups={"Makers": ("Workshop", "Founder"), "Sales": ("Front desk",)},
        shop=GLOBEX,
    ),
}
