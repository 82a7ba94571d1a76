"""A call uses its own credentials, and is retried a limited number of times if a retry may help."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import ERROR_RULES, DynamoDbError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence_iam.credentials import Credentials
from tests.fakes.scripted_dynamodb import CREDENTIALS, RETRY_POLICY, TABLE_NAME, ScriptedDynamoDB, credentials

RETRYABLE = sorted(code for code, error_rule in ERROR_RULES.items() if error_rule.is_retryable)
FINAL = sorted(code for code, error_rule in ERROR_RULES.items() if not error_rule.is_retryable)


def caller(client: ScriptedDynamoDB, **fields: Any) -> DynamoDbCaller:
    return DynamoDbCaller(
        **{"client": client, "table": TABLE_NAME, "credentials": credentials, "retry_policy": RETRY_POLICY, **fields}
    )


@pytest.mark.parametrize("code", RETRYABLE)
async def test_a_retryable_error_is_retried(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, ""), DynamoDbError(code, ""), {"Item": {}}])
    assert await caller(client).call("GetItem", {"Key": {}}) == {"Item": {}}
    assert len(client.calls) == 3


@pytest.mark.parametrize("code", RETRYABLE)
async def test_the_number_of_attempts_is_limited(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, "")] * 10)
    with pytest.raises(DynamoDbError) as raised:
        await caller(client).call("GetItem", {})
    assert raised.value.code == code
    assert len(client.calls) == RETRY_POLICY.attempts


@pytest.mark.parametrize("code", [*FINAL, "SomethingNewException"])
async def test_an_error_that_would_repeat_is_not_retried(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, ""), {}])
    with pytest.raises(DynamoDbError):
        await caller(client).call("GetItem", {})
    assert len(client.calls) == 1


async def test_only_a_denied_call_is_reported_as_a_security_event() -> None:
    reports: list[str] = []
    for code in ("AccessDeniedException", "ValidationException", "ConditionalCheckFailedException"):
        with pytest.raises(DynamoDbError):
            await caller(
                ScriptedDynamoDB([DynamoDbError(code, "")]), on_denied=lambda code=code: reports.append(code)
            ).call("Query", {})
    assert reports == ["AccessDeniedException"]


async def test_an_exception_of_another_type_is_not_retried() -> None:
    class BrokenDynamoDB(ScriptedDynamoDB):
        async def call(self, *_: Any) -> Answer:
            self.answers.pop(0)
            raise KeyError("bug")

    client = BrokenDynamoDB([{}, {}])
    with pytest.raises(KeyError):
        await caller(client).call("GetItem", {})
    assert len(client.answers) == 1


async def test_every_attempt_sends_the_same_parameters() -> None:
    client = ScriptedDynamoDB([DynamoDbError("InternalServerError", ""), {}])
    await caller(client).call("TransactWriteItems", {"ClientRequestToken": "t", "TransactItems": []})
    assert client.calls[0] == client.calls[1]
    assert client.calls[0].parameters["ClientRequestToken"] == "t"


async def test_every_attempt_uses_the_current_credentials() -> None:
    current_credentials = [Credentials("first", "s"), Credentials("second", "s")]
    used_credentials: list[Credentials] = []

    class RecordingDynamoDB(ScriptedDynamoDB):
        async def call(self, operation: str, parameters: Any, credentials: Credentials) -> Answer:
            used_credentials.append(credentials)
            return await super().call(operation, parameters, credentials)

    async def next_credentials() -> Credentials:
        return current_credentials[len(used_credentials)]

    await caller(RecordingDynamoDB([DynamoDbError("ConnectionLost", ""), {}]), credentials=next_credentials).call(
        "GetItem", {}
    )
    assert used_credentials == current_credentials


async def test_the_retry_policy_gives_the_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses_made: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses_made.append(seconds)

    monkeypatch.setattr("keyfence.store.dynamodb.caller.asyncio.sleep", sleep)
    monkeypatch.setattr("keyfence.store.dynamodb.retry_policy.random.uniform", lambda _low, high: high)
    retry_policy = RetryPolicy(attempts=5, first_pause_seconds=0.1, max_pause_seconds=0.3)
    with pytest.raises(DynamoDbError):
        await caller(ScriptedDynamoDB([DynamoDbError("ThrottlingException", "")] * 5), retry_policy=retry_policy).call(
            "GetItem", {}
        )
    assert pauses_made == [0.1, 0.2, 0.3, 0.3]


@given(st.integers(0, 20), st.floats(0, 10), st.floats(0, 10))
def test_a_pause_is_random_below_a_limit_that_doubles(attempt: int, first: float, longest: float) -> None:
    pause = RetryPolicy(first_pause_seconds=first, max_pause_seconds=longest).backoff_seconds(attempt)
    assert 0 <= pause <= min(longest, first * 2**attempt)


def test_pauses_are_spread_over_the_whole_range() -> None:
    pauses = [RetryPolicy(first_pause_seconds=1.0, max_pause_seconds=8.0).backoff_seconds(2) for _ in range(300)]
    assert min(pauses) < 1
    assert max(pauses) > 3


async def test_consumed_capacity_is_counted_for_the_request_and_for_all_requests() -> None:
    one, many = {"CapacityUnits": 0.5}, [{"CapacityUnits": 2.0}, {"CapacityUnits": 1.0}]
    client = ScriptedDynamoDB(
        [DynamoDbError("ConnectionLost", ""), {"ConsumedCapacity": one}, {"ConsumedCapacity": many}, {}]
    )
    total_meter = CapacityMeter()
    meters = [CapacityMeter(accounts=(total_meter,)), CapacityMeter(accounts=(total_meter,))]
    await caller(client, meter=meters[0]).call("GetItem", {"Key": {}})
    await caller(client, meter=meters[1]).call("BatchGetItem", {})
    await caller(client, meter=meters[1]).call("GetItem", {"Key": {}})
    assert [dict(meter.calls) for meter in meters] == [{"GetItem": 2}, {"BatchGetItem": 1, "GetItem": 1}]
    assert [dict(meter.units) for meter in meters] == [{"GetItem": 0.5}, {"BatchGetItem": 3.0, "GetItem": 0.0}]
    assert (total_meter.calls, total_meter.units) == (
        {"GetItem": 3, "BatchGetItem": 1},
        {"GetItem": 0.5, "BatchGetItem": 3.0},
    )
    assert {call.parameters["ReturnConsumedCapacity"] for call in client.calls} == {"TOTAL"}


@pytest.mark.parametrize(("code", "throttled"), [("ThrottlingException", True), ("ConnectionLost", False)])
async def test_a_failed_call_is_counted_with_what_it_consumed(code: str, throttled: bool) -> None:
    consumed = {"CapacityUnits": 2.0}
    client = ScriptedDynamoDB([DynamoDbError(code, "", consumed=consumed)] * RETRY_POLICY.attempts)
    meter = CapacityMeter()
    with pytest.raises(DynamoDbError):
        await caller(client, meter=meter).call("PutItem", {})
    assert meter.calls["PutItem"] == RETRY_POLICY.attempts
    assert meter.write_units == 2.0 * RETRY_POLICY.attempts
    assert meter.throttled_calls == (RETRY_POLICY.attempts if throttled else 0)


async def test_a_call_enters_the_call_limit_and_leaves_it_even_if_it_fails() -> None:
    entries_and_exits: list[int] = []

    class RecordingLimit:
        async def __aenter__(self) -> None:
            entries_and_exits.append(1)

        async def __aexit__(self, *_: object) -> None:
            entries_and_exits.append(-1)

    await caller(ScriptedDynamoDB([DynamoDbError("ConnectionLost", ""), {}]), call_limit=RecordingLimit()).call(
        "GetItem", {}
    )
    assert entries_and_exits == [1, -1, 1, -1]


def test_printed_credentials_show_no_secret() -> None:
    assert "secret" not in repr(CREDENTIALS)
    assert "token='" not in repr(CREDENTIALS)


class RenewableSource:
    """A source that returns newer credentials after the first ones were refused."""

    def __init__(self, *newer: Credentials) -> None:
        self.newer, self.refused = list(newer), list[Credentials]()

    async def __call__(self) -> Credentials:
        return CREDENTIALS

    async def replace(self, refused: Credentials) -> Credentials | None:
        self.refused.append(refused)
        return self.newer.pop(0) if self.newer else None


NEWER_CREDENTIALS = Credentials("AKIB", "secret", "token")
SESSION_ERRORS = ["AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException"]


@pytest.mark.parametrize("code", SESSION_ERRORS)
async def test_a_denied_call_is_made_again_in_a_newer_session_and_not_reported(code: str) -> None:
    reports, source = list[str](), RenewableSource(NEWER_CREDENTIALS)
    client = CredentialRecorder([DynamoDbError(code, ""), {"Item": {}}])
    session_caller = caller(client, credentials=source, on_denied=lambda: reports.append(code))
    assert await session_caller.call("GetItem", {"Key": {}}) == {"Item": {}}
    assert client.used_credentials == [CREDENTIALS, NEWER_CREDENTIALS]
    assert source.refused == [CREDENTIALS]
    assert client.calls[0] == client.calls[1]
    assert reports == []


@pytest.mark.parametrize("newer", [(), (NEWER_CREDENTIALS, NEWER_CREDENTIALS)], ids=["without another", "with others"])
async def test_a_call_that_is_denied_in_both_sessions_is_one_security_event(newer: tuple[Credentials, ...]) -> None:
    reports: list[str] = []
    client = CredentialRecorder([DynamoDbError("AccessDeniedException", "")] * 5)
    session_caller = caller(client, credentials=RenewableSource(*newer), on_denied=lambda: reports.append("denied"))
    with pytest.raises(DynamoDbError, match="AccessDeniedException"):
        await session_caller.call("GetItem", {"Key": {}})
    assert client.used_credentials == [CREDENTIALS, *newer[:1]]
    assert reports == ["denied"]


@pytest.mark.parametrize("code", sorted(ERROR_RULES.keys() - set(SESSION_ERRORS)))
async def test_other_errors_do_not_request_a_new_session(code: str) -> None:
    source = RenewableSource(NEWER_CREDENTIALS)
    with pytest.raises(DynamoDbError):
        await caller(ScriptedDynamoDB([DynamoDbError(code, "")] * 5), credentials=source).call("GetItem", {})
    assert source.refused == []


class CredentialRecorder(ScriptedDynamoDB):
    """Records the credentials of each call."""

    used_credentials: list[Credentials]

    async def call(self, operation: str, parameters: Any, credentials: Credentials) -> Answer:
        self.used_credentials = [*getattr(self, "used_credentials", []), credentials]
        return await super().call(operation, parameters, credentials)
