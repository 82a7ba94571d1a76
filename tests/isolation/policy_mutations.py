"""Mutations of a policy. Each is a plausible mistake."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from keyfence_iam.policy import Condition, Policy, Statement

Bug = Callable[[Policy], Policy]

LEADING = "dynamodb:LeadingKeys"
OWN_SILO = "-silo-${aws:PrincipalTag/tenant}"


def _in_allows(change: Callable[[Statement], Statement]) -> Bug:
    def planted(policy: Policy) -> Policy:
        changed = (change(one) if one.effect == "Allow" else one for one in policy.statements)
        return replace(policy, statements=tuple(changed))

    return planted


def _in_conditions(change: Callable[[Condition], Condition | None]) -> Bug:
    def planted(statement: Statement) -> Statement:
        changed = (change(one) for one in statement.conditions)
        return replace(statement, conditions=tuple(one for one in changed if one is not None))

    return _in_allows(planted)


def _in_fences(change: Callable[[Condition], Condition]) -> Bug:
    return _in_conditions(lambda one: change(one) if one.key == LEADING and one.operator != "Null" else one)


def _in_silos(spelled: str) -> Bug:
    def planted(statement: Statement) -> Statement:
        return replace(statement, resources=tuple(one.replace(OWN_SILO, spelled) for one in statement.resources))

    return _in_allows(planted)


def _without(operator: str, key: str) -> Bug:
    return _in_conditions(lambda one: None if (one.operator, one.key) == (operator, key) else one)


def _without_denials(policy: Policy) -> Policy:
    return replace(policy, statements=tuple(one for one in policy.statements if one.effect == "Allow"))


def undenied(action: str) -> Bug:
    """Removes one action from every Deny statement."""

    def forgotten(one: Statement) -> Statement:
        return replace(one, actions=tuple(found for found in one.actions if found != action))

    def planted(policy: Policy) -> Policy:
        changed = (forgotten(one) if one.effect == "Deny" else one for one in policy.statements)
        return replace(policy, statements=tuple(changed))

    return planted


def _with_actions(*actions: str) -> Bug:
    return _in_allows(lambda one: replace(one, actions=(*one.actions, *actions)))


def _and(*bugs: Bug) -> Bug:
    def planted(policy: Policy) -> Policy:
        for bug in bugs:
            policy = bug(policy)
        return policy

    return planted


GUARD = _without("Null", LEADING)

IN_THE_FENCE: Mapping[str, tuple[Bug, set[str]]] = {
    "the Null guard is dropped": (GUARD, {"shuts_calls_without_keys_by_its_grants_alone"}),
    "the denials are dropped": (
        _without_denials,
        {"shuts_calls_without_keys_by_its_denials_alone", "shuts_table_wide_calls_by_its_denials_alone"},
    ),
    "the closing sign is dropped": (
        _in_fences(lambda one: replace(one, values=(one.values[0].removesuffix("#*") + "*",))),
        {
            "shuts_the_neighbours",
            "shuts_the_partitions_of_others_in_its_own_silo",
            "shuts_mixed_batches",
            "gives_no_tenant_to_an_empty_tag",
        },
    ),
    "Scan is added": (_with_actions("dynamodb:Scan"), {"has_no_hole_that_its_text_shows"}),
    "Scan is added, unguarded and undenied": (
        _and(_with_actions("dynamodb:Scan"), GUARD, _without_denials),
        {"shuts_calls_by_the_table"},
    ),
    "every action is granted, unguarded and undenied": (
        _and(_with_actions("dynamodb:*"), GUARD, _without_denials),
        {"shuts_calls_by_the_table"},
    ),
    "ForAnyValue stands for ForAllValues": (
        _in_fences(lambda one: replace(one, operator="ForAnyValue:StringLike")),
        {"shuts_mixed_batches"},
    ),
    "the operator has lost its ForAllValues": (
        _in_fences(lambda one: replace(one, operator="StringLike")),
        {"opens_its_own_partitions"},
    ),
    "a blank is in the key": (
        _in_fences(lambda one: replace(one, key="dynamodb: LeadingKeys")),
        {"shuts_the_neighbours", "gives_nothing_without_a_tenant"},
    ),
    "the condition is gone": (
        _in_allows(lambda one: replace(one, conditions=())),
        {"shuts_the_neighbours", "shuts_mixed_batches", "gives_nothing_without_a_tenant"},
    ),
    "the tag is not asked for": (
        _in_fences(lambda one: replace(one, values=("TENANT#*",))),
        {"shuts_the_neighbours", "gives_nothing_without_a_tenant", "gives_no_tenant_to_an_empty_tag"},
    ),
    "a wildcard follows the tenant of a silo": (_in_silos(f"{OWN_SILO}*"), {"shuts_the_silos_of_others"}),
    "any silo is a tenant's": (_in_silos("-silo-*"), {"shuts_the_silos_of_others"}),
    "the tenant of a silo has a default": (
        _in_silos("-silo-${aws:PrincipalTag/tenant, 'a10'}"),
        {"has_no_hole_that_its_text_shows"},
    ),
    "the tenant of a silo is another variable": (_in_silos("-silo-${aws:userid}"), {"opens_its_own_silo"}),
    "the tenant of a silo is in capitals": (
        _in_silos("-silo-${aws:PrincipalTag/Tenant}"),
        {"has_no_hole_that_its_text_shows"},
    ),
    "the tag has a default": (
        _in_fences(lambda one: replace(one, values=("TENANT#${aws:PrincipalTag/tenant, 'a10'}#*",))),
        {"gives_nothing_without_a_tenant"},
    ),
    "the version is old": (lambda policy: replace(policy, version="2008-10-17"), {"opens_its_own_partitions"}),
    "a shared partition is added": (
        _in_fences(lambda one: replace(one, values=(*one.values, "CONTROL#*"))),
        {"shuts_the_neighbours"},
    ),
    "the case is ignored": (
        _in_fences(
            lambda one: replace(
                one, operator="ForAllValues:StringEqualsIgnoreCase", values=(one.values[0].replace("*", "USER#1"),)
            )
        ),
        {"shuts_the_neighbours"},
    ),
}

IN_THE_TRUST: Mapping[str, tuple[Bug, set[str]]] = {
    "no tag is demanded": (_in_allows(lambda one: replace(one, conditions=())), {"demands_the_tag", "demands_a_value"}),
    "the tag may be empty": (
        _in_conditions(lambda one: replace(one, values=("*",)) if one.values == ("?*",) else one),
        {"demands_a_value"},
    ),
    "other tags are taken": (_without("ForAllValues:StringEquals", "aws:TagKeys"), {"takes_no_other_tag"}),
    "tags cannot be passed": (
        _in_allows(lambda one: replace(one, actions=("sts:AssumeRole",))),
        {"lets_one_tenant_in"},
    ),
}
