"""Mutations of a policy. Each is a plausible mistake."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from keyfence_iam.policy import Condition, Policy, Statement

Mutation = Callable[[Policy], Policy]

LEADING = "dynamodb:LeadingKeys"
OWN_SILO = "-silo-${aws:PrincipalTag/tenant}"


def _in_allows(change: Callable[[Statement], Statement]) -> Mutation:
    def mutated(policy: Policy) -> Policy:
        changed = (change(one) if one.effect == "Allow" else one for one in policy.statements)
        return replace(policy, statements=tuple(changed))

    return mutated


def _in_conditions(change: Callable[[Condition], Condition | None]) -> Mutation:
    def mutated(statement: Statement) -> Statement:
        changed = (change(one) for one in statement.conditions)
        return replace(statement, conditions=tuple(one for one in changed if one is not None))

    return _in_allows(mutated)


def _in_fences(change: Callable[[Condition], Condition]) -> Mutation:
    return _in_conditions(lambda one: change(one) if one.key == LEADING and one.operator != "Null" else one)


def _in_silos(spelled: str) -> Mutation:
    def mutated(statement: Statement) -> Statement:
        return replace(statement, resources=tuple(one.replace(OWN_SILO, spelled) for one in statement.resources))

    return _in_allows(mutated)


def _without(operator: str, key: str) -> Mutation:
    return _in_conditions(lambda one: None if (one.operator, one.key) == (operator, key) else one)


def _without_denials(policy: Policy) -> Policy:
    return replace(policy, statements=tuple(one for one in policy.statements if one.effect == "Allow"))


def without_denial_of(action: str) -> Mutation:
    """Removes one action from every Deny statement."""

    def without_action(one: Statement) -> Statement:
        return replace(one, actions=tuple(found for found in one.actions if found != action))

    def mutated(policy: Policy) -> Policy:
        changed = (without_action(one) if one.effect == "Deny" else one for one in policy.statements)
        return replace(policy, statements=tuple(changed))

    return mutated


def _with_actions(*actions: str) -> Mutation:
    return _in_allows(lambda one: replace(one, actions=(*one.actions, *actions)))


def _and(*mutations: Mutation) -> Mutation:
    def mutated(policy: Policy) -> Policy:
        for mutation in mutations:
            policy = mutation(policy)
        return policy

    return mutated


GUARD = _without("Null", LEADING)

POLICY_MUTATIONS: Mapping[str, tuple[Mutation, set[str]]] = {
    "the Null guard is removed": (GUARD, {"denies_calls_without_keys_by_its_allow_statements"}),
    "the denials are removed": (
        _without_denials,
        {"denies_calls_without_keys_by_its_deny_statements", "denies_table_wide_calls_by_its_deny_statements"},
    ),
    "the final # is removed": (
        _in_fences(lambda one: replace(one, values=(one.values[0].removesuffix("#*") + "*",))),
        {
            "denies_the_neighbours",
            "denies_the_partitions_of_others_in_its_own_silo",
            "denies_mixed_batches",
            "denies_sessions_with_an_empty_tag",
        },
    ),
    "Scan is added": (_with_actions("dynamodb:Scan"), {"passes_the_linter"}),
    "Scan is added, without Null guard and denials": (
        _and(_with_actions("dynamodb:Scan"), GUARD, _without_denials),
        {"denies_calls_on_the_whole_table"},
    ),
    "every action is allowed, without Null guard and denials": (
        _and(_with_actions("dynamodb:*"), GUARD, _without_denials),
        {"denies_calls_on_the_whole_table"},
    ),
    "ForAnyValue replaces ForAllValues": (
        _in_fences(lambda one: replace(one, operator="ForAnyValue:StringLike")),
        {"denies_mixed_batches"},
    ),
    "the operator has no ForAllValues": (
        _in_fences(lambda one: replace(one, operator="StringLike")),
        {"allows_its_own_partitions"},
    ),
    "a blank is in the key": (
        _in_fences(lambda one: replace(one, key="dynamodb: LeadingKeys")),
        {"denies_the_neighbours", "denies_sessions_without_a_tenant"},
    ),
    "the condition is removed": (
        _in_allows(lambda one: replace(one, conditions=())),
        {"denies_the_neighbours", "denies_mixed_batches", "denies_sessions_without_a_tenant"},
    ),
    "the condition does not use the tag": (
        _in_fences(lambda one: replace(one, values=("TENANT#*",))),
        {"denies_the_neighbours", "denies_sessions_without_a_tenant", "denies_sessions_with_an_empty_tag"},
    ),
    "a wildcard follows the tenant of a silo": (_in_silos(f"{OWN_SILO}*"), {"denies_the_silos_of_others"}),
    "every silo is allowed": (_in_silos("-silo-*"), {"denies_the_silos_of_others"}),
    "the tenant of a silo has a default": (
        _in_silos("-silo-${aws:PrincipalTag/tenant, 'a10'}"),
        {"passes_the_linter"},
    ),
    "the tenant of a silo is another variable": (_in_silos("-silo-${aws:userid}"), {"allows_its_own_silo"}),
    "the tenant of a silo is in capitals": (
        _in_silos("-silo-${aws:PrincipalTag/Tenant}"),
        {"passes_the_linter"},
    ),
    "the tag has a default": (
        _in_fences(lambda one: replace(one, values=("TENANT#${aws:PrincipalTag/tenant, 'a10'}#*",))),
        {"denies_sessions_without_a_tenant"},
    ),
    "the policy version is old": (lambda policy: replace(policy, version="2008-10-17"), {"allows_its_own_partitions"}),
    "a shared partition is added": (
        _in_fences(lambda one: replace(one, values=(*one.values, "CONTROL#*"))),
        {"denies_the_neighbours"},
    ),
    "case is ignored": (
        _in_fences(
            lambda one: replace(
                one, operator="ForAllValues:StringEqualsIgnoreCase", values=(one.values[0].replace("*", "USER#1"),)
            )
        ),
        {"denies_the_neighbours"},
    ),
}

TRUST_MUTATIONS: Mapping[str, tuple[Mutation, set[str]]] = {
    "no tag is required": (
        _in_allows(lambda one: replace(one, conditions=())),
        {"requires_the_tag", "requires_a_value"},
    ),
    "the tag may be empty": (
        _in_conditions(lambda one: replace(one, values=("*",)) if one.values == ("?*",) else one),
        {"requires_a_value"},
    ),
    "other tags are accepted": (_without("ForAllValues:StringEquals", "aws:TagKeys"), {"accepts_no_other_tag"}),
    "tags cannot be passed": (
        _in_allows(lambda one: replace(one, actions=("sts:AssumeRole",))),
        {"allows_one_tenant"},
    ),
}
