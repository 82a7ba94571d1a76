"""What `keyfence import` says when it ends: what it did, or what is wrong with which line."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from keyfence.bulk.importer import BadLines, Tally

PLURALS = {"customer": "customers", "category": "categories", "product": "products", "order": "orders"}


def done(tally: "Tally", tenant: str, seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"tenant": tenant, **_counts(tally), "seconds": round(seconds, 3)}))
        return
    typer.echo(f"Imported {counted(tally.written)} into {tenant} in {seconds:.1f} s.")
    if tally.found:
        typer.echo(f"There already: {counted(tally.found)}.")
    if tally.expired:
        typer.echo(f"Left out, since their time in the recycle bin is over: {counted(tally.expired)}.")


def refused(bad: "BadLines", tally: "Tally", *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**_counts(tally), "errors": [asdict(problem) for problem in bad.problems]}))
    else:
        typer.echo(bad.message, err=True)
        before = f"Imported {counted(tally.written)} before that." if tally.written else "Nothing was written."
        typer.echo(before, err=True)


def stopped(why: str, tally: "Tally", lines: int) -> str:
    return f"{why.rstrip('.')}. {tally.lines:,} of {lines:,} lines are done; the same command goes on from there."


def counted(counts: Mapping[str, int]) -> str:
    parts = [f"{count:,} {kind if count == 1 else PLURALS[kind]}" for kind in PLURALS if (count := counts.get(kind, 0))]
    return ", ".join(parts) or "nothing"


def _counts(tally: "Tally") -> dict[str, Any]:
    return {"written": dict(tally.written), "found": dict(tally.found), "expired": dict(tally.expired)}
