"""Our policies pass all checks, every weakness has a test, and every planted mistake is found."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from keyfence_iam.policy.actions import PARTIQL, SCAN, STREAM_READS, TABLE_COPY_ACTIONS, VECTOR_SEARCH
from keyfence_iam.roles import ROLES
from tests.isolation.policy_checks import FENCE, TABLE_WIDE, TRUST, failing
from tests.isolation.policy_mutations import IN_THE_FENCE, IN_THE_TRUST, undenied
from tests.isolation.session_evaluator import DEPLOYMENT

each_role = pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])


@each_role
@pytest.mark.parametrize("lock", FENCE)
def test_the_policy_of_a_tenant_role_passes_each_check(role: str, lock: str) -> None:
    assert FENCE[lock](ROLES[role].identity(DEPLOYMENT))


@each_role
@pytest.mark.parametrize("lock", TRUST)
def test_the_trust_policy_of_a_tenant_role_passes_each_check(role: str, lock: str) -> None:
    assert TRUST[lock](ROLES[role].trust(DEPLOYMENT))


@each_role
@pytest.mark.parametrize("bug", IN_THE_FENCE)
def test_a_mutated_policy_fails_the_expected_checks_and_the_linter(role: str, bug: str) -> None:
    plant, broken = IN_THE_FENCE[bug]
    seen = failing(FENCE, plant(ROLES[role].identity(DEPLOYMENT)))
    assert broken <= seen
    assert "has_no_hole_that_its_text_shows" in seen or bug == "the denials are dropped"


@each_role
@pytest.mark.parametrize("action", TABLE_WIDE)
def test_a_table_wide_action_that_is_missing_in_the_denials_is_found(role: str, action: str) -> None:
    lock = FENCE["shuts_table_wide_calls_by_its_denials_alone"]
    assert not lock(undenied(action)(ROLES[role].identity(DEPLOYMENT)))


def test_the_checks_cover_every_table_wide_action_that_is_denied() -> None:
    assert {*TABLE_WIDE} == {SCAN, *PARTIQL, VECTOR_SEARCH, *STREAM_READS, *TABLE_COPY_ACTIONS}


@each_role
@pytest.mark.parametrize("bug", IN_THE_TRUST)
def test_a_mutated_trust_policy_fails_the_expected_checks_and_the_linter(role: str, bug: str) -> None:
    plant, broken = IN_THE_TRUST[bug]
    seen = failing(TRUST, plant(ROLES[role].trust(DEPLOYMENT)))
    assert broken | {"has_no_hole_that_its_text_shows"} <= seen


def test_every_check_fails_for_some_mutation() -> None:
    """A check that no mutation breaks could be one that cannot fail."""
    for locks, bugs in ((FENCE, IN_THE_FENCE), (TRUST, IN_THE_TRUST)):
        named = {name for _, broken in bugs.values() for name in broken} | {"has_no_hole_that_its_text_shows"}
        assert named == set(locks)


def test_every_weakness_has_a_test_with_its_code() -> None:
    modules = [
        import_module(f"tests.isolation.{path.stem}") for path in Path(__file__).parent.glob("test_weaknesses_*.py")
    ]
    named = {number for module in modules for name in vars(module) for number in re.findall(r"_H(\d+)(?=_)", name)}
    assert {int(number) for number in named} == set(range(1, 33))
