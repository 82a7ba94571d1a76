"""Every check, over every statement of a policy."""

from collections.abc import Callable, Iterator

from keyfence_iam.document import Kind, Policy
from keyfence_iam.lint import actions, attributes, conditions, partitions, principals, resources, tags, text
from keyfence_iam.lint.finding import Finding
from keyfence_iam.lint.subject import Subject, kind_of

CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    conditions.check,
    tags.check,
    partitions.check,
    actions.check,
    resources.check,
    attributes.check,
    principals.check,
)


def lint(policy: Policy, kind: Kind | None = None) -> list[Finding]:
    """Every hole of this policy, statement by statement; its kind is told by its text unless it is given."""
    found = list(text.check(policy))
    for number in range(len(policy.statements)):
        subject = Subject(policy, number, kind or kind_of(policy.statements))
        found += [finding for check in CHECKS for finding in check(subject)]
    return found
