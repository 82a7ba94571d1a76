"""Mutations of policies. Each mutation is a plausible mistake, with the checks that must find it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from keyfence_iam.policy import Condition, Policy, Statement

Mutation = Callable[[Policy], Policy]

LEADING_KEYS = "dynamodb:LeadingKeys"
OWN_SILO = "-silo-${aws:PrincipalTag/tenant}"


def _change_allow_statements(change: Callable[[Statement], Statement]) -> Mutation:
    def mutate(policy: Policy) -> Policy:
        changed = (change(statement) if statement.effect == "Allow" else statement for statement in policy.statements)
        return replace(policy, statements=tuple(changed))

    return mutate


def _change_conditions(change: Callable[[Condition], Condition | None]) -> Mutation:
    def mutate(statement: Statement) -> Statement:
        changed = [change(condition) for condition in statement.conditions]
        return replace(statement, conditions=tuple(condition for condition in changed if condition is not None))

    return _change_allow_statements(mutate)


def _change_key_condition(change: Callable[[Condition], Condition]) -> Mutation:
    return _change_conditions(
        lambda condition: (
            change(condition) if condition.key == LEADING_KEYS and condition.operator != "Null" else condition
        )
    )


def _replace_silo_suffix(new_suffix: str) -> Mutation:
    def mutate(statement: Statement) -> Statement:
        return replace(
            statement, resources=tuple(resource.replace(OWN_SILO, new_suffix) for resource in statement.resources)
        )

    return _change_allow_statements(mutate)


def _remove_condition(operator: str, key: str) -> Mutation:
    return _change_conditions(
        lambda condition: None if (condition.operator, condition.key) == (operator, key) else condition
    )


def _remove_deny_statements(policy: Policy) -> Policy:
    return replace(
        policy, statements=tuple(statement for statement in policy.statements if statement.effect == "Allow")
    )


def remove_denied_action(action: str) -> Mutation:
    """Removes one action from every Deny statement."""

    def remove_action(statement: Statement) -> Statement:
        return replace(statement, actions=tuple(name for name in statement.actions if name != action))

    def mutate(policy: Policy) -> Policy:
        changed = (
            remove_action(statement) if statement.effect == "Deny" else statement for statement in policy.statements
        )
        return replace(policy, statements=tuple(changed))

    return mutate


def _add_allowed_actions(*actions: str) -> Mutation:
    return _change_allow_statements(lambda statement: replace(statement, actions=(*statement.actions, *actions)))


def _combine(*mutations: Mutation) -> Mutation:
    def mutate(policy: Policy) -> Policy:
        for mutation in mutations:
            policy = mutation(policy)
        return policy

    return mutate


REMOVE_NULL_GUARD = _remove_condition("Null", LEADING_KEYS)

POLICY_MUTATIONS: Mapping[str, tuple[Mutation, set[str]]] = {
    # the mistake: (the mutation that makes it, the checks that must find it)
    "the Null guard is removed": (REMOVE_NULL_GUARD, {"denies_calls_without_keys_by_its_allow_statements"}),
    "the Deny statements are removed": (
        _remove_deny_statements,
        {"denies_calls_without_keys_by_its_deny_statements", "denies_table_wide_calls_by_its_deny_statements"},
    ),
    "the final # is removed": (
        _change_key_condition(lambda one: replace(one, values=(one.values[0].removesuffix("#*") + "*",))),
        {
            "denies_the_neighbours",
            "denies_the_partitions_of_others_in_its_own_silo",
            "denies_mixed_batches",
            "denies_sessions_with_an_empty_tag",
        },
    ),
    "Scan is added": (_add_allowed_actions("dynamodb:Scan"), {"passes_the_linter"}),
    "Scan is added, without Null guard and Deny statements": (
        _combine(_add_allowed_actions("dynamodb:Scan"), REMOVE_NULL_GUARD, _remove_deny_statements),
        {"denies_calls_on_the_whole_table"},
    ),
    "every action is allowed, without Null guard and Deny statements": (
        _combine(_add_allowed_actions("dynamodb:*"), REMOVE_NULL_GUARD, _remove_deny_statements),
        {"denies_calls_on_the_whole_table"},
    ),
    "ForAnyValue replaces ForAllValues": (
        _change_key_condition(lambda one: replace(one, operator="ForAnyValue:StringLike")),
        {"denies_mixed_batches"},
    ),
    "the operator has no ForAllValues": (
        _change_key_condition(lambda one: replace(one, operator="StringLike")),
        {"allows_its_own_partitions"},
    ),
    "a blank is in the key": (
        _change_key_condition(lambda one: replace(one, key="dynamodb: LeadingKeys")),
        {"denies_the_neighbours", "denies_sessions_without_a_tenant"},
    ),
    "the condition is removed": (
        _change_allow_statements(lambda one: replace(one, conditions=())),
        {"denies_the_neighbours", "denies_mixed_batches", "denies_sessions_without_a_tenant"},
    ),
    "the condition does not use the tag": (
        _change_key_condition(lambda one: replace(one, values=("TENANT#*",))),
        {"denies_the_neighbours", "denies_sessions_without_a_tenant", "denies_sessions_with_an_empty_tag"},
    ),
    "a wildcard follows the tenant of a silo": (_replace_silo_suffix(f"{OWN_SILO}*"), {"denies_the_silos_of_others"}),
    "every silo is allowed": (_replace_silo_suffix("-silo-*"), {"denies_the_silos_of_others"}),
    "the tenant of a silo has a default": (
        _replace_silo_suffix("-silo-${aws:PrincipalTag/tenant, 'a10'}"),
        {"passes_the_linter"},
    ),
    "the tenant of a silo is another variable": (_replace_silo_suffix("-silo-${aws:userid}"), {"allows_its_own_silo"}),
    "the tenant of a silo is in capitals": (
        _replace_silo_suffix("-silo-${aws:PrincipalTag/Tenant}"),
        {"passes_the_linter"},
    ),
    "the tag has a default": (
        _change_key_condition(lambda one: replace(one, values=("TENANT#${aws:PrincipalTag/tenant, 'a10'}#*",))),
        {"denies_sessions_without_a_tenant"},
    ),
    "the policy version is old": (lambda policy: replace(policy, version="2008-10-17"), {"allows_its_own_partitions"}),
    "a shared partition is added": (
        _change_key_condition(lambda one: replace(one, values=(*one.values, "CONTROL#*"))),
        {"denies_the_neighbours"},
    ),
    "case is ignored": (
        _change_key_condition(
            lambda one: replace(
                one, operator="ForAllValues:StringEqualsIgnoreCase", values=(one.values[0].replace("*", "USER#1"),)
            )
        ),
        {"denies_the_neighbours"},
    ),
}

TRUST_MUTATIONS: Mapping[str, tuple[Mutation, set[str]]] = {
    "no tag is required": (
        _change_allow_statements(lambda one: replace(one, conditions=())),
        {"requires_the_tag", "requires_a_value"},
    ),
    "the tag may be empty": (
        _change_conditions(lambda one: replace(one, values=("*",)) if one.values == ("?*",) else one),
        {"requires_a_value"},
    ),
    "other tags are accepted": (
        _remove_condition("ForAllValues:StringEquals", "aws:TagKeys"),
        {"accepts_no_other_tag"},
    ),
    "tags cannot be passed": (
        _change_allow_statements(lambda one: replace(one, actions=("sts:AssumeRole",))),
        {"allows_one_tenant"},
    ),
}
