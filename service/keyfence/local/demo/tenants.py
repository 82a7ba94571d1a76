"""The demo tenants acme and globex: their users, groups and shops."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from ulid import ULID

CategoryPath = tuple[str, ...]
"""The name of a category and of each category above it. The top category is first."""


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """A product and the prices that it has had, the oldest first."""

    sku: str
    name: str
    category: CategoryPath
    prices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoShop:
    """The shop of a demo tenant: its products, customers and stores, and how many orders it has."""

    currency: str
    categories: tuple[CategoryPath, ...]
    products: tuple[DemoProduct, ...]
    customers: tuple[str, ...]
    regions: tuple[str, ...]
    stores: Mapping[str, tuple[float, float]]
    """Latitude and longitude, by the name of the store."""
    order_count: int
    days: int
    """The time from the first order to the last, in days."""
    max_lines: int
    """The largest number of lines of an order."""
    max_quantity: int
    """The largest quantity in a line."""


def _full_names(first_names: tuple[str, ...], last_names: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tuple(
        f"{first_names[number % len(first_names)]} {last_names[number * 7 % len(last_names)]}"
        for number in range(count)
    )


_FIRST_NAMES = ("Ada", "Bruno", "Chloé", "Dmitri", "Elif", "Farid", "Grete", "Hana", "Ines", "Jonas", "Kofi")
_LAST_NAMES = ("Albrecht", "Bianchi", "Costa", "Dupont", "Eriksen", "Fischer", "García", "Horváth", "Ivanova", "Jansen")

ACME_SHOP = DemoShop(
    currency="EUR",
    categories=(
        ("audio",),
        ("audio", "headphones"),
        ("audio", "speakers"),
        ("audiobooks",),
        ("home",),
        ("home", "kitchen"),
        ("home", "light"),
        ("home", "light", "outdoor"),
        ("office",),
        ("office", "paper & pens"),
    ),
    products=(
        DemoProduct("HP-100", "Headphones, wired", ("audio", "headphones"), ("29.90", "24.90")),
        DemoProduct("HP-200", "Headphones, wireless", ("audio", "headphones"), ("89.00", "79.00", "84.50")),
        DemoProduct("HP-300", "Headphones, studio", ("audio", "headphones"), ("219.00",)),
        DemoProduct("SP-10", "Speaker, pocket", ("audio", "speakers"), ("39.95",)),
        DemoProduct("SP-20", "Speaker, shelf", ("audio", "speakers"), ("149.00", "139.00")),
        DemoProduct("SP-30", "Speakers, a pair for the floor", ("audio", "speakers"), ("1190.00",)),
        DemoProduct("AB-1", "Audiobook, crime", ("audiobooks",), ("9.99",)),
        DemoProduct("AB-2", "Audiobook, for children", ("audiobooks",), ("7.49",)),
        DemoProduct("AB-3", "Audiobook, voucher", ("audiobooks",), ("25.00",)),
        DemoProduct("KT-1", "Kettle", ("home", "kitchen"), ("34.90", "36.90")),
        DemoProduct("KT-2", "Coffee grinder", ("home", "kitchen"), ("119.00",)),
        DemoProduct("KT-3", "Scales", ("home", "kitchen"), ("22.50",)),
        DemoProduct("LT-1", "Desk lamp", ("home", "light"), ("49.00", "45.00")),
        DemoProduct("LT-2", "Floor lamp", ("home", "light"), ("129.00",)),
        DemoProduct("LT-3", "Light bulb, warm", ("home", "light"), ("4.95", "5.45", "5.95")),
        DemoProduct("LT-9", "Lantern", ("home", "light", "outdoor"), ("18.90",)),
        DemoProduct("OF-1", "Office chair", ("office",), ("289.00", "269.00")),
        DemoProduct("OF-2", "Standing desk", ("office",), ("649.00",)),
        DemoProduct("OF-3", "Monitor arm", ("office",), ("79.90",)),
        DemoProduct("PP-1", "Notebook, dotted", ("office", "paper & pens"), ("6.90",)),
        DemoProduct("PP-2", "Fountain pen", ("office", "paper & pens"), ("32.00", "34.00")),
        DemoProduct("PP-3", "Ink, 50 ml", ("office", "paper & pens"), ("8.20",)),
        DemoProduct("PP-4", "Pencils, a dozen", ("office", "paper & pens"), ("5.40",)),
        DemoProduct("PP-5", "Paper, 500 sheets", ("office", "paper & pens"), ("4.99", "5.49")),
    ),
    customers=_full_names(_FIRST_NAMES, _LAST_NAMES, 42),
    regions=("north", "east", "south", "west"),
    stores={
        "Amsterdam": (52.3731, 4.8926),
        "Berlin": (52.5208, 13.4094),
        "Hamburg": (53.5503, 9.9925),
        "Lyon": (45.7640, 4.8357),
        "Vienna": (48.2082, 16.3738),
        "Zürich": (47.3769, 8.5417),
    },
    order_count=210,
    days=240,
    max_lines=4,
    max_quantity=3,
)
GLOBEX_SHOP = DemoShop(
    currency="USD",
    categories=(("machines",), ("parts",)),
    products=(
        DemoProduct("GX-1", "Bench lathe", ("machines",), ("4800.00", "5150.00")),
        DemoProduct("GX-2", "Drill press", ("machines",), ("1290.00",)),
        DemoProduct("GX-7", "Chuck, 125 mm", ("parts",), ("210.00",)),
        DemoProduct("GX-8", "Belt", ("parts",), ("14.75", "15.25")),
        DemoProduct("GX-9", "Bolts, a hundred", ("parts",), ("9.80",)),
    ),
    customers=("Cobalt Works", "Dune Fabrication", "Harbor School", "Mesa Tooling", "Pine & Sons"),
    regions=("us-east", "us-west"),
    stores={"Portland": (45.5202, -122.6742)},
    order_count=35,
    days=240,
    max_lines=9,
    max_quantity=250,
)


FOUNDED_AT = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTenant:
    """A demo tenant. `users` are names, in the order in which the users joined. The first user is the owner."""

    name: str
    tier: str
    email_domain: str
    users: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    """The names of the members, by the name of the group."""
    shop: DemoShop

    def joined_at(self, user: str) -> datetime:
        number = self.users.index(user)
        return FOUNDED_AT + timedelta(days=3 * number, minutes=17 * number)

    def make_id(self, prefix: str, name: str, created_at: datetime) -> str:
        """Returns an id with a ULID. The same prefix, name and time always give the same id."""
        milliseconds = int(created_at.timestamp() * 1000).to_bytes(6, "big")
        random_part = sha256(f"{self.email_domain}/{prefix}/{name}".encode()).digest()[:10]
        return f"{prefix}_{ULID.from_bytes(milliseconds + random_part)}"

    def user_id(self, user: str) -> str:
        return self.make_id("usr", user, self.joined_at(user))

    def email(self, user: str) -> str:
        return f"{user.lower().replace(' ', '-')}@{self.email_domain}"

    @property
    def owner_id(self) -> str:
        return self.user_id(self.users[0])


_ACME_USERS = (
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
        email_domain="acme.example",
        users=_ACME_USERS,
        groups={
            "Everyone": _ACME_USERS,
            "Fulfilment": ("Warehouse north", "Warehouse south", "Courier desk", "Returns desk"),
            "Office": ("Office admin", "Billing desk", "Catalogue editor", "Auditor"),
            "Support": ("Support day shift", "Support night shift", "Order desk", "Returns desk"),
        },
        shop=ACME_SHOP,
    ),
    "globex": DemoTenant(
        name="Globex",
        tier="FREE",
        email_domain="globex.example",
        users=("Founder", "Workshop", "Front desk"),
        groups={"Makers": ("Workshop", "Founder"), "Sales": ("Front desk",)},
        shop=GLOBEX_SHOP,
    ),
}
