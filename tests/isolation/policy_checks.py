"""Checks of a tenant role's policies. A check returns False if the policy has the weakness that it looks for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.http.query_protocol import QueryError
from keyfence_iam.lint import lint
from keyfence_iam.policy import Policy
from keyfence_iam.policy.actions import READ_ACTIONS
from keyfence_iam.roles import ROLES
from tests.isolation.sample_sessions import (
    DELETE_TABLE,
    DESCRIBE,
    LEADING_KEYS,
    PARTIQL_SCAN,
    SCAN,
    Call,
    allowing,
    batch_get,
    get,
    query,
    session,
)
from tests.isolation.session_evaluator import DEPLOYMENT, SILOS, SessionEvaluator

Check = Callable[[Policy], bool]

A1, A10, OTHER = (f"TENANT#{tenant}#USER#1" for tenant in ("a1", "a10", "zebra"))
UNOWNED_PARTITIONS = (
    "USER#1",
    "TENANT#USER#1",
    "tenant#a1#USER#1",
    "TENANT#A1#USER#1",
    "CONTROL#TENANT#a1",
    "TENANT#a1",
)

TABLE_WIDE_ACTIONS = tuple(
    f"dynamodb:{name}"
    for name in (
        "Scan", "PartiQLSelect", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete", "SearchVectors",
        "DescribeStream", "GetShardIterator", "GetRecords", "ExportTableToPointInTime", "ImportTable",
        "CreateBackup", "RestoreTableFromBackup", "RestoreTableToPointInTime", "StartBulkPutItems",
        "EnableKinesisStreamingDestination", "UpdateKinesisStreamingDestination",
    )
)  # fmt: skip
"""The actions that Deny statements must name. The list does not use the lists of the policies, so that an action that
is missing there is found."""


def allows_its_own_partitions(policy: Policy) -> bool:
    return all(_allows(policy, call) for call in (get(A1), query(A1), query(A1, "GSI1"), batch_get(A1, A1)))


def denies_the_neighbours(policy: Policy) -> bool:
    foreign = [
        call for other in (A10, OTHER, *UNOWNED_PARTITIONS) for call in (get(other), query(other), query(other, "GSI3"))
    ]
    return not any(_allows(policy, call) for call in foreign)


def allows_its_own_silo(policy: Policy) -> bool:
    own = SILOS["a1"]
    return all(_allows(policy, call) for call in (get(A1, TableName=own), query(A1, "GSI2", TableName=own)))


def denies_the_silos_of_others(policy: Policy) -> bool:
    """Includes partitions with the tenant's own prefix: a tenant has no items in a neighbour's table."""
    others = [table for tenant, table in SILOS.items() if tenant != "a1"]
    calls = [call for table in others for call in (get(A1, TableName=table), query(A1, "GSI2", TableName=table))]
    return not any(_allows(policy, call) for call in calls)


def denies_the_partitions_of_others_in_its_own_silo(policy: Policy) -> bool:
    return not any(_allows(policy, get(other, TableName=SILOS["a1"])) for other in (A10, OTHER, *UNOWNED_PARTITIONS))


def denies_mixed_batches(policy: Policy) -> bool:
    return not any(_allows(policy, batch_get(*keys)) for keys in ((A1, A10), (A10, A1), (A1, A1, OTHER)))


def denies_calls_on_the_whole_table(policy: Policy) -> bool:
    return not any(_allows(policy, call) for call in (SCAN, PARTIQL_SCAN, DESCRIBE, DELETE_TABLE))


def denies_calls_without_keys_by_its_allow_statements(policy: Policy) -> bool:
    """Checks the Null condition of the Allow statements, with the Deny statements removed."""
    allow_statements = tuple(statement for statement in policy.statements if statement.effect == "Allow")
    return not _allows_without_keys(replace(policy, statements=allow_statements))


def denies_calls_without_keys_by_its_deny_statements(policy: Policy) -> bool:
    """Checks the Deny statements, with everything else allowed."""
    deny_statements = tuple(statement for statement in policy.statements if statement.effect == "Deny")
    return not _allows_without_keys(
        replace(policy, statements=(*deny_statements, *allowing("*", None, "*").statements))
    )


def denies_table_wide_calls_by_its_deny_statements(policy: Policy) -> bool:
    """Checks that the Deny statements refuse each call, also if another policy allows everything."""
    return all(
        isinstance(decision, Denied) and decision.is_explicit for decision in _decisions_on_table_wide_actions(policy)
    )


def denies_sessions_without_a_tenant(policy: Policy) -> bool:
    partitions = (A1, A10, "TENANT#", "TENANT##USER#1", *UNOWNED_PARTITIONS)
    return not any(
        SessionEvaluator.with_identity_policy(policy, None).allows(*get(partition)) for partition in partitions
    )


def denies_sessions_with_an_empty_tag(policy: Policy) -> bool:
    return not any(
        SessionEvaluator.with_identity_policy(policy, "").allows(*get(partition))
        for partition in (A1, A10, *UNOWNED_PARTITIONS)
    )


def passes_the_linter(policy: Policy) -> bool:
    return lint(policy) == []


POLICY_CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        allows_its_own_partitions,
        denies_the_neighbours,
        allows_its_own_silo,
        denies_the_silos_of_others,
        denies_the_partitions_of_others_in_its_own_silo,
        denies_mixed_batches,
        denies_calls_on_the_whole_table,
        denies_calls_without_keys_by_its_allow_statements,
        denies_calls_without_keys_by_its_deny_statements,
        denies_table_wide_calls_by_its_deny_statements,
        denies_sessions_without_a_tenant,
        denies_sessions_with_an_empty_tag,
        passes_the_linter,
    )
}


def allows_one_tenant(trust: Policy) -> bool:
    return _trusts(trust, {"tenant": "a1"})


def requires_the_tag(trust: Policy) -> bool:
    return not _trusts(trust, {})


def requires_a_value(trust: Policy) -> bool:
    return not _trusts(trust, {"tenant": ""})


def accepts_no_other_tag(trust: Policy) -> bool:
    return not any(_trusts(trust, tags) for tags in ({"tenant": "a1", "team": "x"}, {"team": "x"}, {"Tenant": "a1"}))


TRUST_CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        allows_one_tenant,
        requires_the_tag,
        requires_a_value,
        accepts_no_other_tag,
        passes_the_linter,
    )
}


def failed_checks(checks: Mapping[str, Check], policy: Policy) -> set[str]:
    return {name for name, check in checks.items() if not check(policy)}


def _allows(policy: Policy, call: Call) -> bool:
    return SessionEvaluator.with_identity_policy(policy, "a1").allows(*call)


def _allows_without_keys(policy: Policy) -> bool:
    """Evaluates item actions without dynamodb:LeadingKeys. No DynamoDB call has this form today."""
    requests = [
        AuthorizationRequest(action, resource, {"aws:PrincipalTag/tenant": "a1"})
        for action in READ_ACTIONS
        for resource in (DEPLOYMENT.table_arn, DEPLOYMENT.index_arn("GSI1"))
    ]
    assert not any(LEADING_KEYS in request.context for request in requests)
    return any(isinstance(evaluate(Policies((policy,)), request), Allowed) for request in requests)


def _decisions_on_table_wide_actions(policy: Policy) -> Iterator[Decision]:
    everything = Policies((policy, allowing("dynamodb:*", None, "*")))
    contexts: tuple[dict[str, ContextValue], ...] = ({}, {LEADING_KEYS: (A1,)})
    for action in TABLE_WIDE_ACTIONS:
        for resource in (DEPLOYMENT.table_arn, DEPLOYMENT.index_arn("GSI1"), f"{DEPLOYMENT.table_arn}/stream/now"):
            for keys in contexts:
                request = AuthorizationRequest(action, resource, {"aws:PrincipalTag/tenant": "a1", **keys})
                yield evaluate(everything, request)


def _trusts(trust: Policy, tags: Mapping[str, str]) -> bool:
    """Evaluates the trust policy alone: the policy of the caller allows it to assume any role."""
    our_account = Account.from_definitions(ROLES, DEPLOYMENT)
    anything = allowing(["sts:AssumeRole", "sts:TagSession"], None, "*")
    account = our_account.with_role(replace(our_account.get_role("service-base"), deployed_policies=(anything,)))
    try:
        session(
            "tenant-write",
            tags=tags,
            account=account.with_role(replace(our_account.get_role("tenant-write"), trust=trust)),
        )
    except QueryError:
        return False
    return True
