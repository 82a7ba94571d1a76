"""Our policies pass all checks, every weakness has a test, and every planted mistake is found."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from keyfence_iam.policy.actions import PARTIQL_ACTIONS, SCAN, STREAM_READ_ACTIONS, TABLE_COPY_ACTIONS, VECTOR_SEARCH
from keyfence_iam.roles import ROLES
from tests.isolation.policy_checks import POLICY_CHECKS, TABLE_WIDE_ACTIONS, TRUST_CHECKS, failed_checks
from tests.isolation.policy_mutations import POLICY_MUTATIONS, TRUST_MUTATIONS, remove_denied_action
from tests.isolation.session_evaluator import DEPLOYMENT

each_role = pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])


@each_role
@pytest.mark.parametrize("check", POLICY_CHECKS)
def test_the_policy_of_a_tenant_role_passes_each_check(role: str, check: str) -> None:
    assert POLICY_CHECKS[check](ROLES[role].identity(DEPLOYMENT))


@each_role
@pytest.mark.parametrize("check", TRUST_CHECKS)
def test_the_trust_policy_of_a_tenant_role_passes_each_check(role: str, check: str) -> None:
    assert TRUST_CHECKS[check](ROLES[role].trust(DEPLOYMENT))


@each_role
@pytest.mark.parametrize("mutation", POLICY_MUTATIONS)
def test_a_mutated_policy_fails_the_expected_checks_and_the_linter(role: str, mutation: str) -> None:
    mutate, expected = POLICY_MUTATIONS[mutation]
    failed = failed_checks(POLICY_CHECKS, mutate(ROLES[role].identity(DEPLOYMENT)))
    assert expected <= failed
    assert "passes_the_linter" in failed or mutation == "the Deny statements are removed"


@each_role
@pytest.mark.parametrize("action", TABLE_WIDE_ACTIONS)
def test_a_table_wide_action_that_is_missing_in_the_denials_is_found(role: str, action: str) -> None:
    check = POLICY_CHECKS["denies_table_wide_calls_by_its_deny_statements"]
    assert not check(remove_denied_action(action)(ROLES[role].identity(DEPLOYMENT)))


def test_the_checks_cover_every_table_wide_action_that_is_denied() -> None:
    assert {*TABLE_WIDE_ACTIONS} == {SCAN, *PARTIQL_ACTIONS, VECTOR_SEARCH, *STREAM_READ_ACTIONS, *TABLE_COPY_ACTIONS}


@each_role
@pytest.mark.parametrize("mutation", TRUST_MUTATIONS)
def test_a_mutated_trust_policy_fails_the_expected_checks_and_the_linter(role: str, mutation: str) -> None:
    mutate, expected = TRUST_MUTATIONS[mutation]
    failed = failed_checks(TRUST_CHECKS, mutate(ROLES[role].trust(DEPLOYMENT)))
    assert expected | {"passes_the_linter"} <= failed


def test_every_check_fails_for_some_mutation() -> None:
    """Without such a mutation, a check could be one that cannot fail."""
    for checks, mutations in ((POLICY_CHECKS, POLICY_MUTATIONS), (TRUST_CHECKS, TRUST_MUTATIONS)):
        expected_checks = {name for _, expected in mutations.values() for name in expected} | {"passes_the_linter"}
        assert expected_checks == set(checks)


def test_every_weakness_has_a_test_with_its_code() -> None:
    modules = [
        import_module(f"tests.isolation.{path.stem}") for path in Path(__file__).parent.glob("test_weaknesses_*.py")
    ]
    tested = {number for module in modules for name in vars(module) for number in re.findall(r"_H(\d+)(?=_)", name)}
    assert {int(number) for number in tested} == set(range(1, 33))
