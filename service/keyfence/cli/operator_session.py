"""Runs commands as an operator, who reads and changes tenants. The option `--as` names the operator."""

import getpass
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from keyfence.cli.table_connection import aws_access, tenants_unreadable, unknown_tenant_message
from keyfence.errors import BadInput, Internal, NotFound
from keyfence_iam.tenant import TenantId

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.app.aws_connections import AwsAccess

T = TypeVar("T")

MAX_NAME_LENGTH = 256
READ_ONLY_OPERATOR = "cli"
"""The operator of commands that only read. The name is not stored, because reading writes no event."""

OperatorOption = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Your name in the tenant's events, as cli:NAME. Default: your login name."
    ),
]
TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.", show_default=False)]


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """Runs functions with an operator's context: at the gate of a data directory, or on AWS."""

    data: Path
    endpoint_url: str | None

    def read(self, work: "Callable[[AdminContext], Awaitable[T]]") -> T:
        """Runs `work`, which must not write."""
        return self._run(work, READ_ONLY_OPERATOR, may_write=False)

    def change(self, operator: str | None, tenant: TenantId, work: "Callable[[AdminContext], Awaitable[T]]") -> T:
        """Runs `work`, which changes the tenant. Raises NotFound, with advice, if the tenant does not exist."""
        try:
            return self._run(work, operator_name(operator), may_write=True)
        except NotFound:
            raise tenant_not_found(tenant) from None

    def _run(self, work: "Callable[[AdminContext], Awaitable[T]]", operator: str, *, may_write: bool) -> T:
        import asyncio

        from keyfence.cli.interrupts import interruptible

        async def run(aws: "AwsAccess") -> T:
            from keyfence.app.command_connections import operator_context

            with operator_context(aws, operator, may_write=may_write) as context:
                return await work(context)

        with interruptible():
            aws = aws_access(self.data, self.endpoint_url)
            try:
                return asyncio.run(run(aws))
            except BadInput as error:
                raise BadInput(_with_option_name(error)) from error
            except Internal as error:
                raise tenants_unreadable(aws.settings, error) from error


def operator_name(name: str | None) -> str:
    """Returns `cli:NAME`. No token proves the name, so the prefix separates it from the subjects of tokens."""
    name = _login_name() if name is None else name
    if not (0 < len(name) <= MAX_NAME_LENGTH and name.isprintable()):
        raise BadInput(f"--as must be 1 to {MAX_NAME_LENGTH} printable characters.")
    return f"cli:{name}"


def tenant_not_found(tenant: TenantId) -> NotFound:
    return NotFound(unknown_tenant_message(tenant))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def _with_option_name(error: BadInput) -> str:
    """Returns the message of the error. If it starts with a field of the API, such as `ownerEmail`, the field is
    replaced by the option of the command, such as --owner-email."""
    field = str(error.extensions.get("field", ""))
    if not field or not error.message.startswith(field):
        return error.message
    option = re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", field)
    return f"--{option}{error.message.removeprefix(field)}."
