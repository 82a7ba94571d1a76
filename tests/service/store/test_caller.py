"""A call uses its own credentials and is retried only if that may help, and not without end."""

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
from tests.fakes.scripted_dynamodb import CREDENTIALS, NAME, RETRY_POLICY, ScriptedDynamoDB, credentials

RETRYABLE = sorted(code for code, meaning in ERROR_RULES.items() if meaning.is_retryable)
FINAL = sorted(code for code, meaning in ERROR_RULES.items() if not meaning.is_retryable)


def caller(client: ScriptedDynamoDB, **given: Any) -> DynamoDbCaller:
    return DynamoDbCaller(
        **{"client": client, "table": NAME, "credentials": credentials, "retry_policy": RETRY_POLICY, **given}
    )


@pytest.mark.parametrize("code", RETRYABLE)
async def test_a_retryable_error_is_retried(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, ""), DynamoDbError(code, ""), {"Item": {}}])
    assert await caller(client).call("GetItem", {"Key": {}}) == {"Item": {}}
    assert len(client.calls) == 3


@pytest.mark.parametrize("code", RETRYABLE)
async def test_the_number_of_attempts_is_limited(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, "")] * 10)
    with pytest.raises(DynamoDbError) as refusal:
        await caller(client).call("GetItem", {})
    assert refusal.value.code == code
    assert len(client.calls) == RETRY_POLICY.attempts


@pytest.mark.parametrize("code", [*FINAL, "SomethingNewException"])
async def test_an_error_that_would_repeat_is_not_retried(code: str) -> None:
    client = ScriptedDynamoDB([DynamoDbError(code, ""), {}])
    with pytest.raises(DynamoDbError):
        await caller(client).call("GetItem", {})
    assert len(client.calls) == 1


async def test_only_a_denied_call_is_reported_as_a_security_event() -> None:
    told: list[str] = []
    for code in ("AccessDeniedException", "ValidationException", "ConditionalCheckFailedException"):
        with pytest.raises(DynamoDbError):
            await caller(
                ScriptedDynamoDB([DynamoDbError(code, "")]), on_denied=lambda code=code: told.append(code)
            ).call("Query", {})
    assert told == ["AccessDeniedException"]


async def test_an_exception_of_another_type_is_not_retried() -> None:
    class Broken(ScriptedDynamoDB):
        async def call(self, *_: Any) -> Answer:
            self.answers.pop(0)
            raise KeyError("bug")

    client = Broken([{}, {}])
    with pytest.raises(KeyError):
        await caller(client).call("GetItem", {})
    assert len(client.answers) == 1


async def test_every_attempt_sends_the_same_parameters() -> None:
    client = ScriptedDynamoDB([DynamoDbError("InternalServerError", ""), {}])
    await caller(client).call("TransactWriteItems", {"ClientRequestToken": "t", "TransactItems": []})
    assert client.calls[0] == client.calls[1]
    assert client.calls[0].parameters["ClientRequestToken"] == "t"


async def test_every_attempt_uses_the_current_credentials() -> None:
    fresh = [Credentials("first", "s"), Credentials("second", "s")]
    signed: list[Credentials] = []

    class Signed(ScriptedDynamoDB):
        async def call(self, operation: str, parameters: Any, credentials: Credentials) -> Answer:
            signed.append(credentials)
            return await super().call(operation, parameters, credentials)

    async def next_one() -> Credentials:
        return fresh[len(signed)]

    await caller(Signed([DynamoDbError("ConnectionLost", ""), {}]), credentials=next_one).call("GetItem", {})
    assert signed == fresh


async def test_the_retry_policy_gives_the_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("keyfence.store.dynamodb.caller.asyncio.sleep", sleep)
    monkeypatch.setattr("keyfence.store.dynamodb.retry_policy.random.uniform", lambda _low, high: high)
    patience = RetryPolicy(attempts=5, first_pause_seconds=0.1, max_pause_seconds=0.3)
    with pytest.raises(DynamoDbError):
        await caller(ScriptedDynamoDB([DynamoDbError("ThrottlingException", "")] * 5), retry_policy=patience).call(
            "GetItem", {}
        )
    assert slept == [0.1, 0.2, 0.3, 0.3]


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
    everybody = CapacityMeter()
    meters = [CapacityMeter(accounts=(everybody,)), CapacityMeter(accounts=(everybody,))]
    await caller(client, meter=meters[0]).call("GetItem", {"Key": {}})
    await caller(client, meter=meters[1]).call("BatchGetItem", {})
    await caller(client, meter=meters[1]).call("GetItem", {"Key": {}})
    assert [dict(meter.calls) for meter in meters] == [{"GetItem": 2}, {"BatchGetItem": 1, "GetItem": 1}]
    assert [dict(meter.units) for meter in meters] == [{"GetItem": 0.5}, {"BatchGetItem": 3.0, "GetItem": 0.0}]
    assert (everybody.calls, everybody.units) == (
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
    inside: list[int] = []

    class Narrow:
        async def __aenter__(self) -> None:
            inside.append(1)

        async def __aexit__(self, *_: object) -> None:
            inside.append(-1)

    await caller(ScriptedDynamoDB([DynamoDbError("ConnectionLost", ""), {}]), call_limit=Narrow()).call("GetItem", {})
    assert inside == [1, -1, 1, -1]


def test_printed_credentials_show_no_secret() -> None:
    assert "secret" not in repr(CREDENTIALS)
    assert "token='" not in repr(CREDENTIALS)


class Renewing:
    """A source that has other credentials if the first are refused."""

    def __init__(self, *others: Credentials) -> None:
        self.others, self.refused = list(others), list[Credentials]()

    async def __call__(self) -> Credentials:
        return CREDENTIALS

    async def replace(self, refused: Credentials) -> Credentials | None:
        self.refused.append(refused)
        return self.others.pop(0) if self.others else None


OTHERS = Credentials("AKIB", "secret", "token")
OF_SESSION = ["AccessDeniedException", "ExpiredTokenException", "UnrecognizedClientException"]


@pytest.mark.parametrize("code", OF_SESSION)
async def test_a_denied_call_is_made_again_in_a_newer_session_and_not_reported(code: str) -> None:
    told, source = list[str](), Renewing(OTHERS)
    client = Signing([DynamoDbError(code, ""), {"Item": {}}])
    made = caller(client, credentials=source, on_denied=lambda: told.append(code))
    assert await made.call("GetItem", {"Key": {}}) == {"Item": {}}
    assert client.signed == [CREDENTIALS, OTHERS]
    assert source.refused == [CREDENTIALS]
    assert client.calls[0] == client.calls[1]
    assert told == []


@pytest.mark.parametrize("others", [(), (OTHERS, OTHERS)], ids=["without another", "with others"])
async def test_a_call_that_is_denied_in_both_sessions_is_one_security_event(others: tuple[Credentials, ...]) -> None:
    told: list[str] = []
    client = Signing([DynamoDbError("AccessDeniedException", "")] * 5)
    made = caller(client, credentials=Renewing(*others), on_denied=lambda: told.append("denied"))
    with pytest.raises(DynamoDbError, match="AccessDeniedException"):
        await made.call("GetItem", {"Key": {}})
    assert client.signed == [CREDENTIALS, *others[:1]]
    assert told == ["denied"]


@pytest.mark.parametrize("code", sorted(ERROR_RULES.keys() - set(OF_SESSION)))
async def test_other_errors_do_not_request_a_new_session(code: str) -> None:
    source = Renewing(OTHERS)
    with pytest.raises(DynamoDbError):
        await caller(ScriptedDynamoDB([DynamoDbError(code, "")] * 5), credentials=source).call("GetItem", {})
    assert source.refused == []


class Signing(ScriptedDynamoDB):
    """Records the credentials of each call."""

    signed: list[Credentials]

    async def call(self, operation: str, parameters: Any, credentials: Credentials) -> Answer:
        self.signed = [*getattr(self, "signed", []), credentials]
        return await super().call(operation, parameters, credentials)
