"""Holes of condition keys and operators: lines that hold when they should not, or never."""

from collections.abc import Iterator

from keyfence_iam.lint.condition_keys import ATTRIBUTES, LEADING, TAG_KEYS, closest, known, many_valued
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.line import Line
from keyfence_iam.lint.subject import Subject

BLANK_IN_KEY = Rule("H2", "blank-in-condition-key", "Take the blank out of the key.")
UNKNOWN_KEY = Rule("H2", "unknown-condition-key", "Spell a key that the service sends with the request.")
SINGLE_VALUED = Rule("H2", "set-operator-on-single-value", "Use the plain operator: an absent key would pass this one.")
VACUOUS = Rule("H1", "missing-null-guard", 'Add "Null": {"<the key>": "false"} to the same statement.')
ANY_VALUE = Rule(
    "H6", "for-any-value", "Use ForAllValues and a Null guard: every key of a batch has to be the caller's."
)
ALL_IN_DENY = Rule("H6", "for-all-values-in-deny", "Use ForAnyValue in a Deny: one matching key is enough to refuse.")
SET_MISSING = Rule("H7", "set-operator-missing", "Put ForAllValues: before the operator, and a Null guard beside it.")
LENIENT = Rule("H1", "if-exists-in-allow", "Take IfExists away: a request without the key would pass.")
TURNED_AROUND = Rule("H27", "revocation-turned-around", "Deny with DateLessThan: the sessions of before are to go.")


def check(subject: Subject) -> Iterator[Finding]:
    for line in subject.lines:
        yield from _key(subject, line)
        yield from _quantifier(subject, line)
        yield from _fencing(subject, line)
        yield from _revocation(subject, line)


def _key(subject: Subject, line: Line) -> Iterator[Finding]:
    if known(line.key) or line.name.partition(":")[0] in subject.other_services:
        return
    meant = f" (did you mean {closest(line.key)}?)" if closest(line.key) else ""
    rule = BLANK_IN_KEY if any(one.isspace() for one in line.key) else UNKNOWN_KEY
    yield subject.finding(rule, f"no request carries {line.key!r}{meant}: ForAllValues and IfExists hold without it")


def _quantifier(subject: Subject, line: Line) -> Iterator[Finding]:
    if line.only_presence or not known(line.key):
        return
    if line.operator.quantifier and not many_valued(line.key):
        yield subject.finding(SINGLE_VALUED, f"{line.written} on {line.key}, which has one value")
    if not line.operator.quantifier and many_valued(line.key):
        effect = "the Allow grants nothing" if subject.allows else "the Deny refuses nothing"
        yield subject.finding(
            SET_MISSING, f"{line.written} without a set operator on {line.key} never matches: {effect}"
        )


def _fencing(subject: Subject, line: Line) -> Iterator[Finding]:
    """What fences must hold for every value, and for requests that have none."""
    if not (line.leading or line.name in {ATTRIBUTES, TAG_KEYS}):
        return
    if not subject.allows:
        if line.operator.quantifier == "ForAllValues" and line.name != TAG_KEYS:
            yield subject.finding(ALL_IN_DENY, f"a batch that mixes keys escapes this Deny on {line.key}")
    elif line.operator.quantifier == "ForAnyValue":
        yield subject.finding(ANY_VALUE, f"one matching value of {line.key} lets all the others in")
    elif line.operator.quantifier == "ForAllValues" and not _guarded(subject, line):
        yield subject.finding(VACUOUS, f"requests without {line.key}, such as Scan, pass {line.written}")
    if subject.allows and line.operator.if_exists:
        yield subject.finding(LENIENT, f"requests without {line.key} pass {line.written}")


def _guarded(subject: Subject, line: Line) -> bool:
    if line.name == TAG_KEYS:
        return subject.demands(line.key) or any(other.name.startswith("aws:requesttag/") for other in subject.lines)
    return subject.demands(line.key) or (line.leading and any(subject.demands(key) for key in LEADING))


def _revocation(subject: Subject, line: Line) -> Iterator[Finding]:
    if line.name == "aws:tokenissuetime" and line.operator.relation.startswith(("more", "at least")) != subject.allows:
        yield subject.finding(
            TURNED_AROUND, f"{subject.statement.effect} with {line.written} keeps the old sessions alive"
        )
