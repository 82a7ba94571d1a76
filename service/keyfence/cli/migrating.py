"""The whole table as commands of the migrator reach it: through the gate on this machine, or on AWS."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.reach import local_sessions, reach_settings
from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.operations.migrator import Migrator
    from keyfence.operations.offboarding.signer import Signer
    from keyfence.settings import Settings

UnitRate = Annotated[
    float | None,
    typer.Option(
        "--rate", min=1, metavar="UNITS_PER_SECOND", help="What may be scanned or purged in a second at most."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Say it as JSON.")]
LOCAL_SETTLE_SECONDS = 6.0
"""The gate shuts a tenant out at once, and servers forget within five."""


@contextmanager
def migrating(data: Path, endpoint_url: str | None) -> Iterator[tuple["Migrator", "Settings"]]:
    """As the migrator, who is the caller's own role on AWS."""
    settings = reach_settings(endpoint_url)
    sessions = None if settings.roles else local_sessions(settings, data)
    from keyfence import app

    with app.migrating(settings, sessions) as migrator:
        yield migrator, settings


def exports_of(settings: "Settings", data: Path, given: Path | None) -> Path:
    """Where exports are kept; only this machine's own tenants have a place without being told."""
    from keyfence.local.directory import EXPORTS

    if found := given or settings.exports:
        return found
    if settings.roles:
        raise BadInput("Say where exports are kept, with --exports DIR or in KEYFENCE_EXPORTS.")
    return data / EXPORTS


def signing(settings: "Settings", data: Path) -> "Signer":
    from keyfence.local.signing_key import signing_key
    from keyfence.operations.offboarding.signer import signer

    if settings.signing_key is None and settings.roles:
        raise BadInput("KEYFENCE_SIGNING_KEY is missing: it signs the certificate, as Ed25519 in PEM or base64.")
    made = signer(settings.signing_key.get_secret_value() if settings.signing_key else signing_key(data))
    if made.mark and settings.roles:
        raise BadInput("KEYFENCE_SIGNING_KEY is a key of `keyfence dev`, which certifies nothing on AWS.")
    return made


def settling(settings: "Settings") -> float:
    said = settings.roles or "settle_seconds" in settings.model_fields_set
    return settings.settle_seconds if said else LOCAL_SETTLE_SECONDS
