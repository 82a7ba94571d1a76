"""Hypothesis strategies for policies and requests. They use few different words, so that they often match."""

from random import Random

from hypothesis import strategies as st

from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.policy import Condition, Effect, Policy, Statement
from keyfence_iam.policy.condition_operators import OPERATORS as BASE_OPERATORS
from keyfence_iam.policy.condition_operators import parse_operator

ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "s3:GetObject")
RESOURCES = tuple(f"arn:aws:dynamodb:us-east-1:000000000000:table/{name}" for name in ("app", "app/index/a", "b"))
ANY_TABLE_WITH_A = "arn:aws:dynamodb:*:*:table/a*"
OWN_TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/${aws:PrincipalTag/tenant}"
KEYS = ("dynamodb:LeadingKeys", "aws:PrincipalTag/tenant", "aws:PrincipalTag/team", "x:n", "x:ip", "x:when")
TEXTS = ("a", "a1", "b", "A", "", "*", "a*", "?", "TENANT#a1#x", "5", "10.0.0.1", "2026-01-01", "true")
PATTERNS = (*TEXTS, "*a*a*b", "TENANT#*", "a?")
PATTERNS_WITH_VARIABLES = (
    "${aws:PrincipalTag/tenant}",
    "TENANT#${aws:PrincipalTag/tenant}#*",
    "${x:n, 'a'}",
    "${*}",
    "a${?}",
)
VALUES_BY_TYPE = {
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
    for base in BASE_OPERATORS
    for with_quantifier in (base, f"ForAllValues:{base}", f"ForAnyValue:{base}")
    for name in (with_quantifier, f"{with_quantifier}IfExists")
    if parse_operator(name) is not None
)
EFFECTS: tuple[Effect, ...] = ("Allow", "Deny")


def condition(random: Random, *, has_variables: bool) -> Condition:
    name = random.choice(OPERATORS)
    operator = parse_operator(name)
    assert operator is not None
    base = VALUES_BY_TYPE.get(operator.type, PATTERNS)
    values = (*base, *PATTERNS_WITH_VARIABLES) if has_variables and operator.type not in VALUES_BY_TYPE else base
    return Condition(name, random.choice(KEYS), tuple(random.choices(values, k=random.randint(1, 3))))


def statement(random: Random, *, effect: Effect | None, has_variables: bool) -> Statement:
    actions = tuple(random.choices((*ACTIONS, "*", "dynamodb:*Item"), k=random.randint(1, 3)))
    candidates = (
        (*RESOURCES, "*", ANY_TABLE_WITH_A, OWN_TABLE) if has_variables else (*RESOURCES, "*", ANY_TABLE_WITH_A)
    )
    resources = tuple(random.choices(candidates, k=random.randint(1, 2)))
    conditions = {
        (one.operator, one.key): one
        for one in (condition(random, has_variables=has_variables) for _ in range(random.randint(0, 2)))
    }
    is_negated = random.random() < 0.3
    return Statement(
        effect=random.choice(EFFECTS) if effect is None else effect,
        actions=() if is_negated else actions,
        not_actions=actions if is_negated else (),
        resources=() if is_negated else resources,
        not_resources=resources if is_negated else (),
        conditions=tuple(conditions[name] for name in sorted(conditions)),
    )


def policies(*, effect: Effect | None = None, has_variables: bool = True) -> st.SearchStrategy[Policy]:
    """Makes each policy from one random seed. Drawing each word would take most of the time of the tests."""

    def random_policy(seed: int) -> Policy:
        random = Random(seed)
        statements = tuple(
            statement(random, effect=effect, has_variables=has_variables) for _ in range(random.randint(1, 3))
        )
        return Policy(statements=statements, version=random.choice(("2012-10-17", "2012-10-17", "2008-10-17")))

    return st.integers(0, 2**32).map(random_policy)


VALUES: st.SearchStrategy[ContextValue] = st.sampled_from(TEXTS) | st.lists(st.sampled_from(TEXTS), max_size=3).map(
    tuple
)
CONTEXTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
REQUESTS = st.builds(AuthorizationRequest, st.sampled_from(ACTIONS), st.sampled_from(RESOURCES), CONTEXTS)
