"""keyfence policy lint: the holes of policies, by name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence_iam.document import Kind
    from keyfence_iam.lint import Finding

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Policies as JSON; - is the standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON to compute with, instead of text to read.")]
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
    kind: Kind | None = "trust" if trust else "resource" if resource else None
    found = {name: lint_text(_text(name), kind) for name in files}
    (_print_json if as_json else _print)(found)
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


def _print(found: "dict[str, list[Finding]]") -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(soft_wrap=True, highlight=False)
    for name in found:
        for one in found[name]:
            console.print(f"[bold]{escape(name)}[/bold] {escape(one.place)}: [red]{one.hole} {one.name}[/red]")
            console.print(f"  {escape(one.problem)}\n  [green]Fix:[/green] {escape(one.fix)}\n")
    console.print(_sum(found))


def _sum(found: "dict[str, list[Finding]]") -> str:
    holes = sum(len(findings) for findings in found.values())
    files = f"{len(found)} {'policy' if len(found) == 1 else 'policies'}"
    return f"{holes or 'No'} {'hole' if holes == 1 else 'holes'} in {files}."
