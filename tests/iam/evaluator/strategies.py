"""Hypothesis strategies for policies and requests of few words, so that they often match."""

from random import Random

from hypothesis import strategies as st

from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.policy import Condition, Effect, Policy, Statement
from keyfence_iam.policy.condition_operators import OPERATORS as PLAIN
from keyfence_iam.policy.condition_operators import parse_operator

ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "s3:GetObject")
RESOURCES = tuple(f"arn:aws:dynamodb:us-east-1:000000000000:table/{name}" for name in ("app", "app/index/a", "b"))
ANY_A = "arn:aws:dynamodb:*:*:table/a*"
OWN = "arn:aws:dynamodb:us-east-1:000000000000:table/${aws:PrincipalTag/tenant}"
KEYS = ("dynamodb:LeadingKeys", "aws:PrincipalTag/tenant", "aws:PrincipalTag/team", "x:n", "x:ip", "x:when")
TEXTS = ("a", "a1", "b", "A", "", "*", "a*", "?", "TENANT#a1#x", "5", "10.0.0.1", "2026-01-01", "true")
PATTERNS = (*TEXTS, "*a*a*b", "TENANT#*", "a?")
WITH_VARIABLES = ("${aws:PrincipalTag/tenant}", "TENANT#${aws:PrincipalTag/tenant}#*", "${x:n, 'a'}", "${*}", "a${?}")
TYPED = {
    "numeric": ("5", "5.0", "-1"),
    "date": ("2026-01-01", "1767225600", "2026-01-01T00:00:00+01:00"),
    "bool": ("true", "false"),
    "null": ("true", "false"),
    "binary": ("YQ==", ""),
    "ip_address": ("10.0.0.0/8", "::1", "10.0.0.1"),
    "arn": (*RESOURCES, "arn:aws:dynamodb:*:*:table/*", "*"),
}
OPERATORS = tuple(
    name
    for plain in PLAIN
    for quantified in (plain, f"ForAllValues:{plain}", f"ForAnyValue:{plain}")
    for name in (quantified, f"{quantified}IfExists")
    if parse_operator(name) is not None
)
EFFECTS: tuple[Effect, ...] = ("Allow", "Deny")


def condition(die: Random, *, has_variables: bool) -> Condition:
    name = die.choice(OPERATORS)
    operator = parse_operator(name)
    assert operator is not None
    plain = TYPED.get(operator.type, PATTERNS)
    values = (*plain, *WITH_VARIABLES) if has_variables and operator.type not in TYPED else plain
    return Condition(name, die.choice(KEYS), tuple(die.choices(values, k=die.randint(1, 3))))


def statement(die: Random, *, effect: Effect | None, has_variables: bool) -> Statement:
    actions = tuple(die.choices((*ACTIONS, "*", "dynamodb:*Item"), k=die.randint(1, 3)))
    listed = (*RESOURCES, "*", ANY_A, OWN) if has_variables else (*RESOURCES, "*", ANY_A)
    resources = tuple(die.choices(listed, k=die.randint(1, 2)))
    held = {
        (one.operator, one.key): one
        for one in (condition(die, has_variables=has_variables) for _ in range(die.randint(0, 2)))
    }
    excluding = die.random() < 0.3
    return Statement(
        effect=die.choice(EFFECTS) if effect is None else effect,
        actions=() if excluding else actions,
        not_actions=actions if excluding else (),
        resources=() if excluding else resources,
        not_resources=resources if excluding else (),
        conditions=tuple(held[name] for name in sorted(held)),
    )


def policies(*, effect: Effect | None = None, has_variables: bool = True) -> st.SearchStrategy[Policy]:
    """Each is thrown by one number: drawn word by word they would take most of the tests' time."""

    def thrown(seed: int) -> Policy:
        die = Random(seed)
        said = tuple(statement(die, effect=effect, has_variables=has_variables) for _ in range(die.randint(1, 3)))
        return Policy(statements=said, version=die.choice(("2012-10-17", "2012-10-17", "2008-10-17")))

    return st.integers(0, 2**32).map(thrown)


VALUES: st.SearchStrategy[ContextValue] = st.sampled_from(TEXTS) | st.lists(st.sampled_from(TEXTS), max_size=3).map(
    tuple
)
CONTEXTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
REQUESTS = st.builds(AuthorizationRequest, st.sampled_from(ACTIONS), st.sampled_from(RESOURCES), CONTEXTS)
