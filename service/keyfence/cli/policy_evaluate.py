"""keyfence policy evaluate: decisions on authorisations that come as JSON lines."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyfence_iam.evaluator.decision import Decision


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
    from keyfence_iam.evaluator.json_lines import BadLine, read_line

    try:
        policies, asked = read_line(line)
    except BadLine as error:
        return orjson.dumps({"decision": "invalid", "by": str(error)})
    return orjson.dumps(shown(decide(policies, asked)))


def shown(decision: "Decision") -> dict[str, str]:
    from keyfence_iam.evaluator.decision import Allowed
    from keyfence_iam.evaluator.wording import NAMES

    if isinstance(decision, Allowed):
        return {"decision": "allowed", "by": str(decision.by)}
    if decision.by is not None:
        return {"decision": "explicit_deny", "by": str(decision.by)}
    return {"decision": "implicit_deny", "by": f"no {NAMES[decision.kind]} allows it"}
