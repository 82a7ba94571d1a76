"""`keyfence policy render|lint|explain|evaluate`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.policy_render import (
    DEFAULTS,
    AccountOption,
    JsonOption,
    PartitionOption,
    RegionOption,
    RolePrefixOption,
    TableNameOption,
    deployment,
    existing_role,
    render,
)
from keyfence.errors import BadInput
from keyfence_iam.tenant import InvalidTenantId, parse_tenant_id

if TYPE_CHECKING:
    from keyfence.cli.policy_explanation import CallExplanation
    from keyfence_iam.evaluator import Decision
    from keyfence_iam.lint import Finding
    from keyfence_iam.policy import DocumentKind

RoleOption = Annotated[
    str, typer.Option(metavar="ROLE", help="The role whose session makes the call, such as tenant-read.")
]
TenantOption = Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant in the tag of the session.")]
CallOption = Annotated[
    str, typer.Option(metavar="JSON", help='An operation with its parameters: {"GetItem": {...}}; - reads stdin.')
]
FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE...", help="Policies in JSON; - reads stdin.")]
TrustOption = Annotated[bool, typer.Option("--trust", help="Treat them as trust policies.")]
ResourceOption = Annotated[bool, typer.Option("--resource", help="Treat them as resource policies.")]


def explain(
    role: RoleOption,
    call: CallOption,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    account: AccountOption = DEFAULTS.account,
    region: RegionOption = DEFAULTS.region,
    table: TableNameOption = DEFAULTS.table,
    role_prefix: RolePrefixOption = DEFAULTS.role_prefix,
    partition: PartitionOption = DEFAULTS.partition,
) -> None:
    """Explain why a call is allowed or denied: which elements of each statement match, and which do not.

    Without a TableName the call uses the table of the deployment. The command does not call AWS.

    [bold]Example:[/bold] keyfence policy explain --role tenant-read --tenant acme --call '{"Scan": {}}'

    [bold]Example:[/bold] keyfence policy explain --role tenant-write --tenant acme
    --call '{"GetItem": {"Key": {"PK": {"S": "TENANT#globex#USER#1"}, "SK": {"S": "PROFILE"}}}}'

    [bold]Example:[/bold] keyfence policy explain --role migrator --call '{"Scan": {"TableName": "keyfence-silo-acme"}}'
    """
    import json

    from keyfence.cli.policy_explanation import ExplainedSession, explain_call

    where = deployment(account=account, region=region, table=table, role_prefix=role_prefix, partition=partition)
    operation, parameters = _parse_call(call)
    session = ExplainedSession(role=existing_role(role), tenant=_parse_tenant(tenant), deployment=where)
    explanation = explain_call(session, operation, parameters)
    if as_json:
        typer.echo(json.dumps(explanation.as_json(), indent=2))
    else:
        _print_explanation(explanation)


def lint(
    files: FilesArgument, as_json: JsonOption = False, trust: TrustOption = False, resource: ResourceOption = False
) -> None:
    """Find weaknesses of policies, each with its code, the statement and the fix. Exits with 1 if there are any.

    A Sid can accept a Scan or a stream that a system role needs: AcceptH1..., AcceptH19...

    [bold]Example:[/bold] keyfence policy lint iam/rendered/*.json

    [bold]Example:[/bold] keyfence policy render tenant-read | keyfence policy lint - --json
    """
    from keyfence_iam.lint import lint_text

    if trust and resource:
        raise BadInput("--trust and --resource exclude each other; use one of them.")
    kind: DocumentKind | None = "trust" if trust else "resource" if resource else None
    findings = {name: lint_text(_read_file(name), kind) for name in files}
    (_print_findings_json if as_json else _print_findings)(findings)
    if any(findings.values()):
        raise typer.Exit(1)


def evaluate(as_json: JsonOption = True) -> None:  # noqa: ARG001 - the output is JSON with and without --json
    r"""Decide each JSON line of stdin. Writes one JSON line for each; blank lines are skipped.

    A line is {"identity": \[policy...], "action": A, "resource": R}. It may have "session" and "boundary", which are
    lists of policies, and "context", an object of condition keys. A list is the value of a key with several values.

    [bold]Example:[/bold] keyfence policy evaluate < requests.jsonl
    """
    import sys

    for result in evaluate_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(result + b"\n")
        sys.stdout.buffer.flush()


def evaluate_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one decision for each line, as soon as the line is read. Blank lines are skipped."""
    return (_evaluate_line(line) for line in lines if line.strip())


def decision_json(decision: "Decision") -> dict[str, str]:
    from keyfence_iam.evaluator import POLICY_TYPE_NAMES, Allowed

    if isinstance(decision, Allowed):
        return {"decision": "allowed", "by": str(decision.statement_id)}
    if decision.statement_id is not None:
        return {"decision": "explicit_deny", "by": str(decision.statement_id)}
    return {"decision": "implicit_deny", "by": f"no {POLICY_TYPE_NAMES[decision.policy_type]} allows it"}


def _parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Parse --call as strictly as the gate parses the body of a request."""
    import sys

    from keyfence_iam.strict_json import parse_object

    try:
        call = parse_object((sys.stdin.read() if text == "-" else text).encode())
    except ValueError as error:
        raise BadInput(f"--call is not valid: {error}.") from error
    if len(call) != 1 or not all(isinstance(value, dict) for value in call.values()):
        raise BadInput('--call must be one operation with its parameters, such as {"Query": {...}}.')
    return next(iter(call.items()))


def _parse_tenant(text: str | None) -> str | None:
    try:
        return None if text is None else parse_tenant_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"--tenant {text!r} is not a tenant id: {error}.") from error


def _print_explanation(explanation: "CallExplanation") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in explanation.lines():
        console.print(line)


def _read_file(name: str) -> str:
    import sys

    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text.") from error


def _print_findings_json(findings: "dict[str, list[Finding]]") -> None:
    import json

    typer.echo(json.dumps([{"file": name, **one.as_json()} for name in findings for one in findings[name]], indent=2))


def _print_findings(findings: "dict[str, list[Finding]]") -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(soft_wrap=True, highlight=False)
    for name in findings:
        for one in findings[name]:
            console.print(f"[bold]{escape(name)}[/bold] {escape(one.location)}: [red]{one.code} {one.name}[/red]")
            console.print(f"  {escape(one.problem)}\n  [green]Fix:[/green] {escape(one.fix)}\n")
    count = sum(map(len, findings.values()))
    files = f"{len(findings)} {'policy' if len(findings) == 1 else 'policies'}"
    console.print(f"{count or 'No'} {'weakness' if count == 1 else 'weaknesses'} in {files}.")


def _evaluate_line(line: bytes) -> bytes:
    import orjson

    from keyfence_iam.evaluator import evaluate as decide
    from keyfence_iam.evaluator.request_line_parser import InvalidRequestLine, parse_request_line

    try:
        policies, request = parse_request_line(line)
    except InvalidRequestLine as error:
        return orjson.dumps({"decision": "invalid", "by": str(error)})
    return orjson.dumps(decision_json(decide(policies, request)))


policy = typer.Typer(
    name="policy",
    help="Print the IAM policies, find their weaknesses, and explain what they decide.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (render, lint, explain, evaluate):
    policy.command()(command)
