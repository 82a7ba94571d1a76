"""Holes of attribute lists: they bind what a request names, not what it gets or replaces."""

from collections.abc import Iterator

from keyfence_iam.lint.condition_keys import ATTRIBUTES
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.subject import Subject
from keyfence_iam.policies.actions import READS, SCAN

RETURNED = Rule(
    "H15", "return-values-open", "Add StringEqualsIfExists dynamodb:ReturnValues [NONE, UPDATED_OLD, UPDATED_NEW]."
)
UNPROJECTED = Rule("H16", "projection-not-demanded", "Add StringEquals dynamodb:Select SPECIFIC_ATTRIBUTES.")
WHOLE_ITEM = Rule("H17", "whole-item-replaced", "Grant UpdateItem alone where attributes are listed.")

_RETURNING = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem")
_REPLACING = ("dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")


def check(subject: Subject) -> Iterator[Finding]:
    if not any(line.name == ATTRIBUTES and not line.only_presence for line in subject.lines):
        return
    if subject.granted(_RETURNING) and not _narrows(subject, "dynamodb:returnvalues", {"ALL_OLD", "ALL_NEW"}):
        yield subject.finding(RETURNED, "ReturnValues can ask for the whole item")
    everything = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"}
    if subject.granted((*READS, SCAN)) and not _narrows(subject, "dynamodb:select", everything):
        yield subject.finding(UNPROJECTED, "a read without a projection returns every attribute")
    if found := subject.granted(_REPLACING):
        yield subject.finding(WHOLE_ITEM, f"{', '.join(found)}: the attributes that are not named are lost")


def _narrows(subject: Subject, key: str, wide: set[str]) -> bool:
    lines = [line for line in subject.lines if line.name == key and not line.operator.negated]
    return any(not wide & set(line.values) and "*" not in "".join(line.values) for line in lines)
