"""Holes of what is granted: calls that no leading key fences, or that are granted without a fence."""

from collections.abc import Iterator

from keyfence_iam.lint.condition_keys import LEADING
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.subject import Subject
from keyfence_iam.policies.actions import ADMINISTRATION, COPIES, DATA, KEYED, PARTIQL, SCAN, SEARCH, STREAM_READS

WILDCARD = Rule("H1", "wildcard-action", "List the actions by name: a wildcard also grants what AWS adds next year.")
NOT_ACTION = Rule("H1", "not-action-in-allow", "List what is allowed with Action.")
SCAN_GRANTED = Rule("H1", "scan-granted", "Take Scan out: it returns every tenant's items.")
PARTIQL_OPEN = Rule("H1", "partiql-granted", "Take PartiQL out, or demand leading keys with a Null guard.")
UNFENCED = Rule(
    "H14", "unfenced-data-call", "Grant it only with ForAllValues and Null conditions on dynamodb:LeadingKeys."
)
TABLE_WIDE = Rule("H19", "table-wide-call", "Keep it for a system role of its own.")
ADMINISTERED = Rule(
    "H19", "table-administration", "Keep it for a role that reads and writes no item; grant DeleteTable never."
)
DAX = Rule("H31", "dax-granted", "Go without DAX: it asks DynamoDB as itself, and no caller is fenced.")
VECTORS = Rule("H32", "vector-search-granted", "Never grant it: it has no condition key that could fence it.")

DELETE_TABLE = "dynamodb:DeleteTable"
_OTHER_COPIES = ("dynamodb:PutResourcePolicy", "dynamodb:CreateGlobalTable", "dynamodb:CreateTableReplica")


def check(subject: Subject) -> Iterator[Finding]:
    if subject.allows:
        yield from _wildcards(subject)
        yield from _items(subject)
        yield from _tables(subject)


def _wildcards(subject: Subject) -> Iterator[Finding]:
    for action in subject.statement.actions:
        if "*" in action or "?" in action:
            yield subject.finding(WILDCARD, f"{action} grants more than it names")
    if subject.statement.not_actions:
        yield subject.finding(NOT_ACTION, "everything but the listed actions is granted, in every service")


def _items(subject: Subject) -> Iterator[Finding]:
    if subject.granted((SCAN,)) and not subject.accepts(SCAN_GRANTED):
        yield subject.finding(SCAN_GRANTED, "Scan has no leading keys: no condition on them narrows it")
    demanded = any(subject.demands(key) for key in LEADING)
    if (found := subject.granted(PARTIQL)) and not demanded:
        yield subject.finding(
            PARTIQL_OPEN, f"{_listed(found)}: a statement without a key condition reads the whole table"
        )
    if (found := subject.granted((*KEYED, *PARTIQL))) and not _fenced(subject):
        yield subject.finding(UNFENCED, f"{_listed(found)} on every partition")


def _fenced(subject: Subject) -> bool:
    return any(line.leading and not line.only_presence for line in subject.lines)


def _tables(subject: Subject) -> Iterator[Finding]:
    yield from _administration(subject)
    found = subject.granted((*STREAM_READS, *COPIES, *_OTHER_COPIES))
    if found and not subject.accepts(TABLE_WIDE):
        yield subject.finding(TABLE_WIDE, f"{_listed(found)}: items of all tenants, whatever the conditions on keys")
    if subject.granted((SEARCH,)):
        yield subject.finding(VECTORS, "SearchVectors answers with items of all tenants")
    if any(action.lower().startswith("dax:") for action in subject.statement.actions):
        yield subject.finding(DAX, "DAX answers from its own cache with its own role")


def _administration(subject: Subject) -> Iterator[Finding]:
    """A statement that demands leading keys grants none of it, whatever it lists: these calls have none."""
    if any(subject.demands(key) for key in LEADING) or subject.accepts(ADMINISTERED):
        return
    wanted = ADMINISTRATION if subject.granted_anywhere(DATA) else (DELETE_TABLE,)
    if found := subject.granted(wanted):
        yield subject.finding(ADMINISTERED, f"{_listed(found)}: the table of all tenants, changed or gone")


def _listed(actions: tuple[str, ...]) -> str:
    names = [action.partition(":")[2] for action in actions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
