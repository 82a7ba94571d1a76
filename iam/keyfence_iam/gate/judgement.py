"""Whether a session may do all that a call asks for."""

from collections.abc import Iterable, Mapping

from keyfence_iam.evaluator.authorisation import Authorisation, Value
from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluate import evaluate
from keyfence_iam.gate.account import Account
from keyfence_iam.gate.session import Session


def first_denied(
    questions: tuple[Authorisation, ...], known: Mapping[str, Value], session: Session, account: Account
) -> tuple[Authorisation, Denied] | None:
    """Every question must be answered with yes; the first no, with its question, is the whole call's."""
    for asked in _distinct(questions):
        policies = session.against(account.resource_policies.get(asked.resource, ()))
        whole = Authorisation(asked.action, asked.resource, {**known, **asked.context})
        decision = evaluate(policies, whole, session.principal)
        if isinstance(decision, Denied):
            return asked, decision
    return None


def _distinct(questions: tuple[Authorisation, ...]) -> Iterable[Authorisation]:
    """In their order, each but once: within one call the same question has the same answer."""
    if len(questions) == 1:
        return questions
    return {(one.action, one.resource, *one.context.items()): one for one in questions}.values()
