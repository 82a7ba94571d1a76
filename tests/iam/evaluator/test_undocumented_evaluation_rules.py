"""Assumptions about rules of policy evaluation that AWS does not document."""

import pytest

from keyfence_iam.evaluator import undocumented_evaluation_rules as rules
from keyfence_iam.evaluator.condition_evaluation import compile_condition
from keyfence_iam.evaluator.decision import Allowed, Decision, Denied
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue, Principal
from keyfence_iam.evaluator.statement_matching import PrincipalMatch, match_principal
from keyfence_iam.policy import Condition, Policy, Statement

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/app"


def holds(operator: str, value: str, actual: ContextValue | None, **context: ContextValue) -> bool:
    condition = compile_condition(Condition(operator, "x:key", (value,)), replace_variables=True)
    return condition.holds(context if actual is None else {**context, "x:key": actual})


def decision(*statements: Statement, **context: ContextValue) -> Decision:
    named = {key.replace("_", ":"): value for key, value in context.items()}
    return evaluate(Policies((Policy(statements=statements),)), AuthorizationRequest("x:Do", TABLE, named))


def test_these_are_all_rules_with_a_constant() -> None:
    assert {name: value for name, value in vars(rules).items() if name.isupper()} == {
        "ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS": True,
        "EMPTY_LIST_IS_NO_VALUE": True,
        "UNRESOLVED_NOT_RESOURCE_APPLIES": False,
        "SHORT_ARN_IS_COMPLETED": True,
        "UNREADABLE_VALUE_DENIES": True,
        "ANY_PRINCIPAL_IS_DIRECT": True,
    }


def test_for_any_value_with_if_exists_holds_for_an_absent_key() -> None:
    assert holds("ForAnyValue:StringEqualsIfExists", "a", None)
    assert not holds("ForAnyValue:StringEquals", "a", None)


def test_the_empty_string_is_a_value_like_any_other() -> None:
    assert holds("StringEquals", "", "")
    assert not holds("ForAllValues:StringEquals", "a", ("",))
    assert holds("Null", "false", "")


@pytest.mark.parametrize(
    ("operator", "value", "applies"),
    [
        ("ForAllValues:StringEquals", "a", True),
        ("ForAnyValue:StringEquals", "a", False),
        ("Null", "true", True),
        ("Null", "false", False),
        ("StringNotEquals", "a", True),
        ("StringEquals", "a", False),
    ],
)
def test_an_empty_list_is_no_value(operator: str, value: str, applies: bool) -> None:
    condition = Condition(operator, "x:key", (value,))
    allow = Statement(effect="Allow", actions=("x:Do",), resources=("*",), conditions=(condition,))
    assert isinstance(decision(allow, x_key=()), Allowed) == applies


@pytest.mark.parametrize("value", ["*", "?cme", "${x:other}"])
def test_a_substituted_value_is_plain_text(value: str) -> None:
    assert not holds("StringLike", "${x:tag}", "acme", **{"x:tag": value, "x:other": "acme"})
    assert holds("StringLike", "${x:tag}", value, **{"x:tag": value, "x:other": "acme"})


def test_a_not_resource_with_an_unresolved_variable_applies_to_nothing() -> None:
    not_resources = (f"{TABLE}/${{aws:PrincipalTag/tenant}}",)
    allow = Statement(effect="Allow", actions=("*",), not_resources=not_resources)
    deny = Statement(effect="Deny", actions=("*",), not_resources=not_resources)
    everything = Statement(effect="Allow", actions=("*",), resources=("*",))
    assert decision(allow) == Denied("identity")
    assert isinstance(decision(deny, everything), Allowed)


@pytest.mark.parametrize(
    ("resource", "applies"),
    [
        ("arn:aws:dynamodb:*", True),
        ("arn:aws:dynamodb:us-*", True),
        ("arn:aws:dynamodb:us-east-1:*", True),
        ("arn:aws:dynamodb:us-east-1:0*", True),
        ("arn:*", True),
        ("arn:aws:dynamodb:eu-*", False),
        ("arn:aws:s3:*", False),
        ("arn:aws:dynamodb:us-east-1:1*", False),
    ],
)
def test_a_short_arn_that_ends_in_a_star_matches_all_further_segments(resource: str, applies: bool) -> None:
    everything = Statement(effect="Allow", actions=("*",), resources=("*",))
    allow = Statement(effect="Allow", actions=("*",), resources=(resource,))
    deny = Statement(effect="Deny", actions=("*",), resources=(resource,))
    assert isinstance(decision(allow), Allowed) == applies
    assert isinstance(decision(everything, deny), Denied) == applies


def test_a_value_that_cannot_be_parsed_allows_nothing_and_is_denied() -> None:
    condition = (Condition("NumericLessThan", "x:n", ("5",)),)
    everything = Statement(effect="Allow", actions=("*",), resources=("*",))
    allow = Statement(effect="Allow", actions=("*",), resources=("*",), conditions=condition)
    deny = Statement(effect="Deny", actions=("*",), resources=("*",), conditions=condition)
    assert decision(allow, x_n="many") == Denied("identity")
    denied = decision(everything, deny, x_n="many")
    assert isinstance(denied, Denied)
    assert denied.is_explicit


def test_any_principal_is_a_direct_match() -> None:
    assert match_principal({"AWS": ("*",)}, Principal(account="000000000000")) is PrincipalMatch.DIRECT
