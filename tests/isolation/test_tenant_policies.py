"""A session reaches its own partitions and nothing else, by every call in the catalogue of access patterns."""

from collections.abc import Callable, Iterable, Iterator

import pytest

from keyfence.store.keys import Fence
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import tenant_key_prefix
from tests.isolation.catalogue_calls import Call, calls
from tests.isolation.partitions import CALLERS, NEIGHBOUR, PARTITIONS, TENANT, Caller
from tests.isolation.session_evaluator import DEPLOYMENT, SessionEvaluator

CALLS = tuple(calls())


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_session_is_allowed_what_the_design_promises_and_nothing_more(caller: Caller) -> None:
    allowed = _allowed(SessionEvaluator.of(caller.role, caller.tenant))
    assert _mismatches(allowed, caller.may) == []


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_an_empty_tag_reaches_only_partitions_that_no_tenant_can_have(role: str) -> None:
    def expected(call: Call, partition: str) -> bool:
        return partition == "the empty tenant" and (role == "tenant-write" or not call.writes)

    assert _mismatches(_allowed(SessionEvaluator.of(role, "")), expected) == []


def test_one_foreign_key_denies_the_whole_batch() -> None:
    own, foreign = (_key(tenant) for tenant in (TENANT, NEIGHBOUR))
    reader, writer = SessionEvaluator.of("tenant-read", TENANT), SessionEvaluator.of("tenant-write", TENANT)
    table = DEPLOYMENT.table
    assert reader.allows("BatchGetItem", {"RequestItems": {table: {"Keys": [own]}}})
    assert not reader.allows("BatchGetItem", {"RequestItems": {table: {"Keys": [own, foreign]}}})
    assert not writer.allows(
        "BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": key}} for key in (own, foreign)]}}
    )
    for verb, subject in (("Put", "Item"), ("Delete", "Key"), ("ConditionCheck", "Key")):
        condition = {"ConditionExpression": "attribute_not_exists(PK)"} if verb == "ConditionCheck" else {}
        members = [{verb: {"TableName": table, subject: key, **condition}} for key in (own, foreign)]
        assert writer.allows("TransactWriteItems", {"TransactItems": members[:1]})
        assert not writer.allows("TransactWriteItems", {"TransactItems": members})


CALLS_WITHOUT_A_KEY = {
    "Scan": {"TableName": DEPLOYMENT.table},
    "ExecuteStatement": {"Statement": f'SELECT * FROM "{DEPLOYMENT.table}"'},
    "DescribeTable": {"TableName": DEPLOYMENT.table},
    "DeleteTable": {"TableName": DEPLOYMENT.table},
    "ListTables": {},
}


@pytest.mark.parametrize("operation", CALLS_WITHOUT_A_KEY)
@pytest.mark.parametrize("role", sorted(ROLES.keys() - {"migrator", "provisioner", "stream-worker"}))
def test_calls_without_a_partition_key_are_denied_to_every_role_but_three(role: str, operation: str) -> None:
    assert not SessionEvaluator.of(role, TENANT).allows(operation, CALLS_WITHOUT_A_KEY[operation])


def test_a_tenants_own_items_are_denied_through_partiql() -> None:
    statement = f"SELECT * FROM \"{DEPLOYMENT.table}\" WHERE PK = '{tenant_key_prefix(TENANT)}USER#1'"
    assert not SessionEvaluator.of("tenant-write", TENANT).allows("ExecuteStatement", {"Statement": statement})


def test_the_matrix_covers_every_index_operation_and_realm() -> None:
    """A matrix without calls would always pass, so this test checks that no operation is missing."""
    queried = {
        call.parameters("t", Fence("tenant", "X#")).get("IndexName") for call in CALLS if call.operation == "Query"
    }
    assert {None, "GSI1", "GSI2", "GSI3"} <= queried
    assert {call.realm for call in CALLS} == {"tenant", "control"}
    assert {call.operation for call in CALLS} == {
        *("GetItem", "BatchGetItem", "TransactGetItems", "Query"),
        *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    }


def _allowed(evaluator: SessionEvaluator) -> Iterator[tuple[Call, str, bool]]:
    """Yields every call on every partition, and whether the session is allowed to make it."""
    for call in CALLS:
        for partition, fence in PARTITIONS.items():
            yield call, partition, evaluator.allows(call.operation, call.parameters(DEPLOYMENT.table, fence))


def _mismatches(allowed: Iterable[tuple[Call, str, bool]], expected: Callable[[Call, str], bool]) -> list[str]:
    return [
        f"{call} on {partition}: allowed is {is_allowed}"
        for call, partition, is_allowed in allowed
        if is_allowed != expected(call, partition)
    ]


def _key(tenant: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": "PROFILE"}}
