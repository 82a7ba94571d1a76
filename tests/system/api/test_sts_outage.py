"""During an outage of STS, the service serves known tenants for five minutes, tells others to retry, and recovers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import httpx2
import pytest
from structlog.testing import capture_logs

from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import SessionRefused, suspender_session
from tests.stack import ApiClient, ServiceStack

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation($email: String!) { createUser(input: {email: $email, name: "N"}) { id } }'
STS_ERRORS = (Fault(kind="error", service="sts"),)
STS_LOSES_REQUESTS = (Fault(kind="lost_request", service="sts"),)
STS_THROTTLES = (Fault(kind="throttle", service="sts"),)
STS_DENIES = (Fault(kind="error", service="sts", code="AccessDenied", status=403),)
TEMPORARY_FAULTS = (STS_ERRORS, STS_LOSES_REQUESTS, STS_THROTTLES)
TEMPORARY_FAULT_NAMES = ("errors", "hangs up", "throttles")


@dataclass(slots=True)
class ServiceWithClock:
    """The service with a manual clock for its sessions."""

    stack: ServiceStack
    session_cache: SessionCache
    owner: ApiClient
    now: float = 0.0

    def pass_time(self, seconds: int) -> None:
        """Advances the clock, and refreshes due sessions every five seconds of it."""
        for _ in range(0, seconds, 5):
            self.now += 5
            self.session_cache.refresh_due_sessions()
            for pending_call in list(self.session_cache._pending.values()):
                pending_call.exception(60)

    async def new_tenant(self) -> ApiClient:
        """Returns a client of a tenant for which the service has no session."""
        tenant = await self.stack.new_tenant()
        return replace(self.owner, tenant=tenant, token=self.stack.api_client(tenant).token)

    async def probe(self, path: str) -> tuple[int, str]:
        transport = httpx2.ASGITransport(self.owner.application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://keyfence.test") as http:
            answer = await http.get(path)
        return answer.status_code, answer.text


@pytest.fixture
def service(stack: ServiceStack, owner: ApiClient) -> Iterator[ServiceWithClock]:
    service: ServiceWithClock
    session_cache = SessionCache(stack.session_cache._assume, clock=lambda: service.now, random_number=lambda: 1.0)
    application = stack.serve(
        tables=replace(stack.tables, credentials=TenantCredentials(session_cache)), sessions=session_cache
    )
    service = ServiceWithClock(stack, session_cache, replace(owner, application=application))
    yield service
    stack.gate.faults = ()
    session_cache.close()


@pytest.mark.parametrize("faults", [STS_ERRORS, STS_LOSES_REQUESTS], ids=["errors", "hangs up"])
async def test_a_tenant_in_use_is_served_during_an_outage_of_five_minutes_and_after(
    service: ServiceWithClock, faults: tuple[Fault, ...]
) -> None:
    await service.owner.data(USERS)
    await service.owner.data(CREATE, email="0@x.example")
    service.pass_time(530)
    service.stack.gate.faults = faults
    for minute in range(1, 6):
        service.pass_time(60)
        await service.owner.data(CREATE, email=f"{minute}@x.example")
        assert len((await service.owner.data(USERS))["users"]["edges"]) == minute + 1
    assert service.session_cache.counts["failed"] > 0
    service.stack.gate.faults = ()
    service.pass_time(60)
    assert service.session_cache.counts["renewed"] >= 3
    await service.owner.data(CREATE, email="after@x.example")


async def test_with_expired_sessions_the_service_fails_closed_and_recovers_without_a_restart(
    service: ServiceWithClock,
) -> None:
    await service.owner.data(USERS)
    service.stack.gate.faults = STS_ERRORS
    service.pass_time(1000)
    assert await service.owner.error_code(USERS) == "THROTTLED"
    service.stack.take_calls()
    await service.owner.execute(USERS)
    assert service.stack.take_calls() == [], "nothing is sent with anybody else's credentials"
    service.stack.gate.faults = ()
    service.pass_time(5)
    await service.owner.data(USERS)


@pytest.mark.parametrize("faults", TEMPORARY_FAULTS, ids=TEMPORARY_FAULT_NAMES)
async def test_a_new_tenant_is_told_to_retry_and_is_served_when_sts_is_back(
    service: ServiceWithClock, faults: tuple[Fault, ...]
) -> None:
    await service.owner.data(USERS)
    newcomer = await service.new_tenant()
    service.stack.gate.faults = faults
    for document in (USERS, CREATE):
        answer = await newcomer.post({"query": document, "variables": {"email": "new@x.example"}})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        (error,) = answer.json()["errors"]
        assert error["extensions"] == {"code": "THROTTLED", "retryAfterMs": 1000}
    await service.owner.data(USERS)
    service.stack.gate.faults = ()
    service.pass_time(5)
    await newcomer.data(CREATE, email="new@x.example")


async def test_a_server_without_any_session_tells_its_first_caller_to_retry(service: ServiceWithClock) -> None:
    service.stack.gate.faults = STS_ERRORS
    answer = await service.owner.post({"query": USERS})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    service.stack.gate.faults = ()
    service.pass_time(5)
    await service.owner.data(USERS)


async def test_an_outage_is_logged_once_when_it_begins_and_once_when_it_ends(service: ServiceWithClock) -> None:
    await service.owner.data(USERS)
    newcomers = [await service.new_tenant() for _ in range(3)]
    service.stack.gate.faults = STS_ERRORS
    with capture_logs() as logs:
        for _ in range(3):
            for newcomer in newcomers:
                assert await newcomer.error_code(USERS) == "THROTTLED"
            service.pass_time(20)
        service.stack.gate.faults = ()
        service.pass_time(20)
        await newcomers[0].data(USERS)
    events = [line for line in logs if line["event"] != "request"]
    assert [line["event"] for line in events] == ["session_unavailable", "session_available"]
    assert "InternalFailure" in events[0]["reason"]


@pytest.mark.parametrize("faults", TEMPORARY_FAULTS, ids=TEMPORARY_FAULT_NAMES)
async def test_a_server_is_not_ready_during_an_outage_and_ready_again_without_any_request(
    service: ServiceWithClock, faults: tuple[Fault, ...]
) -> None:
    await service.owner.data(USERS)
    newcomer = await service.new_tenant()
    assert await service.probe("/readyz") == (200, "ready\n")
    service.stack.gate.faults = faults
    await newcomer.execute(USERS)
    assert await service.probe("/readyz") == (503, "not ready: STS cannot be reached, or answers errors\n")
    assert await service.probe("/healthz") == (200, "ok\n")
    service.pass_time(60)
    assert (await service.probe("/readyz"))[0] == 503
    service.stack.gate.faults = ()
    service.pass_time(5)
    assert await service.probe("/readyz") == (200, "ready\n")


async def test_the_readiness_check_calls_sts_no_more_often_during_an_outage(service: ServiceWithClock) -> None:
    service.stack.gate.faults = STS_ERRORS
    assert (await service.probe("/readyz"))[0] == 503
    failed_before = service.session_cache.counts["failed"]
    for _ in range(50):
        service.now += 10
        assert (await service.probe("/readyz"))[0] == 503
    assert service.session_cache.counts["failed"] == failed_before
    service.pass_time(60)
    assert service.session_cache.counts["failed"] - failed_before <= 12, "one call in five seconds"


async def test_a_role_that_sts_refuses_is_an_internal_error_with_advice_in_the_log(service: ServiceWithClock) -> None:
    await service.owner.data(USERS)
    newcomer = await service.new_tenant()
    service.stack.gate.faults = STS_DENIES
    with capture_logs() as logs:
        assert [await newcomer.error_code(USERS) for _ in range(3)] == ["INTERNAL"] * 3
    (refusal,) = [line for line in logs if line["event"] == "session_refused"]
    assert refusal["role"] == "tenant-read"
    assert "AccessDenied" in refusal["reason"]
    assert "keyfence policy render" in refusal["to_do"]
    assert await service.probe("/readyz") == (503, "not ready: STS refuses sessions of the role tenant-read\n")
    await service.owner.data(USERS)
    service.stack.gate.faults = ()
    service.pass_time(5)
    assert await service.probe("/readyz") == (200, "ready\n")
    await newcomer.data(USERS)


async def test_a_server_stays_ready_if_only_the_role_for_suspensions_is_refused(service: ServiceWithClock) -> None:
    await service.owner.data(USERS)
    service.stack.gate.faults = STS_DENIES
    with pytest.raises(SessionRefused):
        await service.session_cache.credentials(suspender_session())
    assert await service.probe("/readyz") == (200, "ready\n")
