"""The operator context for a command; `--as`."""

import getpass
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from keyfence.cli.connection import aws_access, command_settings
from keyfence.errors import BadInput, Internal, NotFound
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence.admin.context import Context


LONGEST = 256

By = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does it: events name cli:NAME. The name of your account here if left out."
    ),
]


def operator_name(given: str | None) -> str:
    """No token proves it, so it is never spelled like the subject of one."""
    name = _account() if given is None else given
    if not (0 < len(name) <= LONGEST and name.isprintable()):
        raise BadInput(f"--as must be 1 to {LONGEST} printable characters.")
    return f"cli:{name}"


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


T = TypeVar("T")

INTERRUPTED = 130
NOBODY = "cli"
"""Who only reads leaves no event."""

Id = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="One JSON document to compute with, instead of text to read.")]


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """Where it stands: at the gate of a data directory, or on AWS."""

    data: Path
    endpoint_url: str | None

    def read(self, work: "Callable[[Context], Awaitable[T]]") -> T:
        return self._run(work, NOBODY, writes=False)

    def change(self, by: str | None, tenant: TenantId, work: "Callable[[Context], Awaitable[T]]") -> T:
        try:
            return self._run(work, operator_name(by), writes=True)
        except NotFound:
            raise unknown(tenant) from None

    def _run(self, work: "Callable[[Context], Awaitable[T]]", by: str, *, writes: bool) -> T:
        import asyncio

        from keyfence.cli.process import interruptible

        settings = command_settings(self.endpoint_url)
        aws = aws_access(settings, self.data)
        from keyfence.app.commands import operator_context

        async def seated() -> T:
            with operator_context(aws, by, writes=writes) as held:
                return await work(held)

        try:
            with interruptible():
                return asyncio.run(seated())
        except KeyboardInterrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BadInput as error:
            raise BadInput(_spelled(error)) from error
        except Internal as error:
            raise BadInput(_unreached(settings.endpoint_url, error, local=settings.roles is None)) from error


def checked_id(text: str) -> TenantId:
    try:
        return parse_tenant_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"{text!r} is not a tenant id: {error}.") from error


def unknown(tenant: TenantId) -> NotFound:
    return NotFound(f"There is no tenant {tenant}: `keyfence tenant list` shows those that there are.")


def _spelled(error: BadInput) -> str:
    """What the error calls by the API's name, as the commands' options do: `ownerEmail` is --owner-email."""
    field = str(error.extensions.get("field", ""))
    if not field or not error.message.startswith(field):
        return error.message
    option = re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", field)
    return f"--{option}{error.message.removeprefix(field)}."


def _unreached(endpoint_url: str | None, error: Internal, *, local: bool) -> str:
    hint = " Is `keyfence dev` running on that directory?" if local else ""
    return f"The register of tenants cannot be reached at {endpoint_url or 'AWS'}: {error.message}.{hint}"
