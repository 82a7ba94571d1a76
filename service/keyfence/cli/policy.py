"""`keyfence policy lint|explain|evaluate`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.policy_render import (
    USUAL,
    Account,
    Partition,
    Region,
    RolePrefix,
    TableName,
    deployment,
    known,
    render,
)
from keyfence.errors import BadInput
from keyfence_iam.tenant import InvalidTenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence.cli.policy_verdict import PolicyDecision
    from keyfence_iam.evaluator.decision import Decision
    from keyfence_iam.lint import Finding
    from keyfence_iam.policy import DocumentKind


Role = Annotated[str, typer.Option(metavar="ROLE", help="Whose session makes the call, such as tenant-read.")]
Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant that the session is tagged with.")]
Call = Annotated[
    str, typer.Option(metavar="JSON", help='The operation and its parameters: {"GetItem": {...}}; - is standard input.')
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON to compute with, instead of text to read.")]


def explain(
    role: Role,
    call: Call,
    tenant: Tenant = None,
    as_json: AsJson = False,
    account: Account = USUAL.account,
    region: Region = USUAL.region,
    table: TableName = USUAL.table,
    role_prefix: RolePrefix = USUAL.role_prefix,
    partition: Partition = USUAL.partition,
) -> None:
    """Say whether a call is allowed or denied, and why: of every statement, what matched and what did not.

    A call without a TableName is made on the deployment's table. Nothing is asked of AWS.

    [bold]Example:[/bold] keyfence policy explain --role tenant-read --tenant acme --call '{"Scan": {}}'

    [bold]Example:[/bold] keyfence policy explain --role tenant-write --tenant acme
    --call '{"GetItem": {"Key": {"PK": {"S": "TENANT#globex#USER#1"}, "SK": {"S": "PROFILE"}}}}'

    [bold]Example:[/bold] keyfence policy explain --role migrator --call '{"Scan": {"TableName": "keyfence-silo-acme"}}'
    """
    import json

    from keyfence.cli.policy_verdict import ExplainedSession, verdict

    where = deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    operation, parameters = _call(call)
    asker = ExplainedSession(role=known(role), tenant=_tenant(tenant), deployment=where)
    decided = verdict(asker, operation, parameters)
    if as_json:
        typer.echo(json.dumps(decided.as_json(), indent=2))
    else:
        _print(decided)


def _call(text: str) -> tuple[str, dict[str, Any]]:
    """Read as strictly as the gate reads a body: what two readers could take for two calls is none."""
    import sys

    from keyfence_iam.strict_json import parse_object

    try:
        read = parse_object((sys.stdin.read() if text == "-" else text).encode())
    except ValueError as error:
        raise BadInput(f"--call cannot be read: {error}.") from error
    if len(read) != 1 or not all(isinstance(value, dict) for value in read.values()):
        raise BadInput('--call must be one operation with its parameters, such as {"Query": {...}}.')
    return next(iter(read.items()))


def _tenant(text: str | None) -> str | None:
    try:
        return None if text is None else parse_tenant_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"--tenant {text!r} is not a tenant id: {error}.") from error


def _print(decided: "PolicyDecision") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in decided.lines():
        console.print(line)


Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Policies as JSON; - is the standard input.")]
Trust = Annotated[bool, typer.Option("--trust", help="Read them as trust policies, whatever they look like.")]
Resource = Annotated[bool, typer.Option("--resource", help="Read them as resource policies, whatever they look like.")]


def lint(files: Files, as_json: AsJson = False, trust: Trust = False, resource: Resource = False) -> None:
    """Find the holes of policies: each with its name, the statement and the fix. Holes end it with exit code 1.

    A Scan or a stream that a system role really needs is accepted by a Sid that says so: AcceptH1..., AcceptH19...

    [bold]Example:[/bold] keyfence policy lint iam/rendered/*.json

    [bold]Example:[/bold] keyfence policy render tenant-read | keyfence policy lint - --json
    """
    from keyfence_iam.lint import lint_text

    if trust and resource:
        raise BadInput("Say --trust or --resource, not both.")
    kind: DocumentKind | None = "trust" if trust else "resource" if resource else None
    found = {name: lint_text(_text(name), kind) for name in files}
    (_print_json if as_json else _print_findings)(found)
    if any(found.values()):
        raise typer.Exit(1)


def _text(name: str) -> str:
    import sys

    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text.") from error


def _print_json(found: "dict[str, list[Finding]]") -> None:
    import json

    typer.echo(json.dumps([{"file": name, **one.as_json()} for name in found for one in found[name]], indent=2))


def _print_findings(found: "dict[str, list[Finding]]") -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(soft_wrap=True, highlight=False)
    for name in found:
        for one in found[name]:
            console.print(f"[bold]{escape(name)}[/bold] {escape(one.location)}: [red]{one.code} {one.name}[/red]")
            console.print(f"  {escape(one.problem)}\n  [green]Fix:[/green] {escape(one.fix)}\n")
    console.print(_sum(found))


def _sum(found: "dict[str, list[Finding]]") -> str:
    holes = sum(len(findings) for findings in found.values())
    files = f"{len(found)} {'policy' if len(found) == 1 else 'policies'}"
    return f"{holes or 'No'} {'hole' if holes == 1 else 'holes'} in {files}."


def evaluate() -> None:
    r"""Decide each JSON line of stdin, and answer it with one line; blank lines get no answer.

    A line asks {"identity": \[policy...], "action": A, "resource": R} and may add "session" and "boundary", lists of
    policies, and "context", an object of condition keys, where a list is the value of a key of ArrayOf type.

    [bold]Example:[/bold] keyfence policy evaluate < questions.jsonl
    """
    import sys

    for answer in evaluate_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def evaluate_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One answer for each line, in step with them; a line of nothing but blanks is not answered."""
    return (_answer(line) for line in lines if line.strip())


def _answer(line: bytes) -> bytes:
    import orjson

    from keyfence_iam.evaluator.evaluate import evaluate as decide
    from keyfence_iam.evaluator.request_parser import InvalidRequestLine, parse_request_line

    try:
        policies, asked = parse_request_line(line)
    except InvalidRequestLine as error:
        return orjson.dumps({"decision": "invalid", "by": str(error)})
    return orjson.dumps(shown(decide(policies, asked)))


def shown(decision: "Decision") -> dict[str, str]:
    from keyfence_iam.evaluator.decision import POLICY_TYPE_NAMES, Allowed

    if isinstance(decision, Allowed):
        return {"decision": "allowed", "by": str(decision.by)}
    if decision.by is not None:
        return {"decision": "explicit_deny", "by": str(decision.by)}
    return {"decision": "implicit_deny", "by": f"no {POLICY_TYPE_NAMES[decision.policy_type]} allows it"}


policy = typer.Typer(
    name="policy",
    help="Policies: print them, find their holes, ask what they decide.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (render, lint, explain, evaluate):
    policy.command()(command)
