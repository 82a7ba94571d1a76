"""`keyfence policy` with `render`, `lint`, `explain` and `evaluate`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.deployment_options import (
    DEFAULTS,
    AccountOption,
    PartitionOption,
    RegionOption,
    RolePrefixOption,
    TableNameOption,
    deployment_from_options,
)
from keyfence.cli.file_arguments import read_file_argument
from keyfence.cli.policy_render import JsonOption, existing_role, render
from keyfence.cli.table_connection import parse_tenant_option
from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.cli.policy_explanation import CallExplanation
    from keyfence_iam.evaluator import Decision
    from keyfence_iam.lint import Finding
    from keyfence_iam.policy import DocumentKind

RoleOption = Annotated[
    str, typer.Option(metavar="ROLE", help="The role whose session makes the call, such as tenant-read.")
]
TenantOption = Annotated[
    str | None, typer.Option(metavar="TENANT", help="The tenant of the session. Default: a session without a tenant.")
]
CallOption = Annotated[
    str,
    typer.Option(metavar="JSON", help='A DynamoDB operation with its parameters: {"GetItem": {...}}. - reads stdin.'),
]
FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Files with one policy each, in JSON. - reads stdin.")
]
TrustOption = Annotated[bool, typer.Option("--trust", help="Treat all files as trust policies.")]
ResourceOption = Annotated[bool, typer.Option("--resource", help="Treat all files as resource policies.")]


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
    """Explain why a role's policies allow or deny a DynamoDB call: which elements of each statement match the call.

    A call without a TableName uses the table of the deployment. The command does not call AWS. Its exit code is 0 for
    both decisions, and 1 for an operation that does not exist.

    [bold]Example:[/bold] keyfence policy explain --role tenant-read --tenant acme --call '{"Scan": {}}'

    [bold]Example:[/bold] keyfence policy explain --role tenant-write --tenant acme
    --call '{"GetItem": {"Key": {"PK": {"S": "TENANT#globex#USER#1"}, "SK": {"S": "PROFILE"}}}}'

    [bold]Example:[/bold] keyfence policy explain --role migrator --call '{"Scan": {"TableName": "keyfence-silo-acme"}}'
    """
    import json

    from keyfence.cli.policy_explanation import ExplainedSession, explain_call

    deployment = deployment_from_options(
        account=account, region=region, table=table, role_prefix=role_prefix, partition=partition
    )
    operation, parameters = _parse_call(call)
    session = ExplainedSession(
        role=existing_role(role),
        tenant=parse_tenant_option(tenant) if tenant is not None else None,
        deployment=deployment,
    )
    explanation = explain_call(session, operation, parameters)
    if as_json:
        typer.echo(json.dumps(explanation.as_json(), indent=2))
    else:
        _print_explanation(explanation)


def lint(
    files: FilesArgument, as_json: JsonOption = False, trust: TrustOption = False, resource: ResourceOption = False
) -> None:
    """Find weaknesses in IAM policies, and print a fix for each. Exits with 1 if there are any. Does not call AWS.

    Some system roles need a Scan (finding H1) or a stream (finding H19). To accept the finding, put AcceptH1 or
    AcceptH19 into the Sid of the statement.

    [bold]Example:[/bold] keyfence policy lint iam/rendered/*.json

    [bold]Example:[/bold] keyfence policy render tenant-read | keyfence policy lint - --json
    """
    from keyfence_iam.lint import lint_text

    if trust and resource:
        raise BadInput("--trust and --resource exclude each other; use one of them.")
    kind: DocumentKind | None = "trust" if trust else "resource" if resource else None
    findings = {name: lint_text(_read_policy(name), kind) for name in files}
    (_print_findings_json if as_json else _print_findings)(findings)
    if any(findings.values()):
        raise typer.Exit(1)


def evaluate(as_json: JsonOption = True) -> None:  # noqa: ARG001 - the output is JSON with and without --json
    r"""Read authorization requests from stdin, one JSON object in a line, and print a decision for each.

    A request is {"identity": \[policy...], "action": A, "resource": R}. It may have "session" and "boundary", which are
    lists of policies, and "context", an object of condition keys and their values. A condition key with several values
    has a list. Blank lines are skipped. The command does not call AWS.

    [bold]Example:[/bold] keyfence policy evaluate < requests.jsonl
    """
    import sys

    for result in evaluate_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(result + b"\n")
        sys.stdout.buffer.flush()


def evaluate_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields one decision for each line, as soon as the line is read. Blank lines are skipped."""
    return (_evaluate_line(line) for line in lines if line.strip())


def decision_json(decision: "Decision") -> dict[str, str]:
    from keyfence_iam.evaluator import POLICY_TYPE_NAMES, Allowed

    if isinstance(decision, Allowed):
        return {"decision": "allowed", "by": str(decision.statement_id)}
    if decision.statement_id is not None:
        return {"decision": "explicit_deny", "by": str(decision.statement_id)}
    return {"decision": "implicit_deny", "by": f"no {POLICY_TYPE_NAMES[decision.policy_type]} allows it"}


def _parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Returns the operation and its parameters. Parses as strictly as the gate parses the body of a request."""
    import sys

    from keyfence_iam.strict_json import parse_object

    try:
        call = parse_object((sys.stdin.read() if text == "-" else text).encode())
    except ValueError as error:
        raise BadInput(f"--call is not valid: {error}.") from error
    if len(call) != 1 or not all(isinstance(value, dict) for value in call.values()):
        raise BadInput('--call must be one operation with its parameters, such as {"Query": {...}}.')
    return next(iter(call.items()))


def _print_explanation(explanation: "CallExplanation") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in explanation.lines():
        console.print(line)


def _read_policy(file: str) -> str:
    try:
        return read_file_argument(file).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8 text.") from error


def _print_findings_json(findings: "dict[str, list[Finding]]") -> None:
    import json

    document = [{"file": name, **finding.as_json()} for name in findings for finding in findings[name]]
    typer.echo(json.dumps(document, indent=2))


def _print_findings(findings: "dict[str, list[Finding]]") -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(soft_wrap=True, highlight=False)
    for name in findings:
        for finding in findings[name]:
            title = f"[red]{finding.code} {finding.name}[/red]"
            console.print(f"[bold]{escape(name)}[/bold] {escape(finding.location)}: {title}")
            console.print(f"  {escape(finding.problem)}\n  [green]Fix:[/green] {escape(finding.fix)}\n")
    count = sum(map(len, findings.values()))
    files = f"{len(findings)} {'policy' if len(findings) == 1 else 'policies'}"
    console.print(f"{count or 'No'} {'weakness' if count == 1 else 'weaknesses'} in {files}.")


def _evaluate_line(line: bytes) -> bytes:
    import orjson

    from keyfence_iam.evaluator import evaluate as evaluate_request
    from keyfence_iam.evaluator.request_line_parser import InvalidRequestLine, parse_request_line

    try:
        policies, request = parse_request_line(line)
    except InvalidRequestLine as error:
        return orjson.dumps({"decision": "invalid", "by": str(error)})
    return orjson.dumps(decision_json(evaluate_request(policies, request)))


policy = typer.Typer(
    name="policy",
    help="Print IAM policies, find their weaknesses, and explain their decisions. These commands do not call AWS.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (render, lint, explain, evaluate):
    policy.command()(command)
