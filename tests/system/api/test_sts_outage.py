"""During an outage of STS, the service serves known tenants for five minutes, then nobody, and recovers by itself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.sts import SessionCache
from tests.stack import ApiClient, ServiceStack

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation($email: String!) { createUser(input: {email: $email, name: "N"}) { id } }'
STS_ERRORS = (Fault(kind="error", service="sts"),)
STS_LOSES_REQUESTS = (Fault(kind="lost_request", service="sts"),)


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
            self.session_cache.refresh_due()
            for pending_call in list(self.session_cache._pending.values()):
                pending_call.exception(60)


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
    answer = await service.owner.execute(USERS)
    (error,) = answer["errors"]
    assert (error["message"], error["extensions"]["code"]) == ("internal error", "INTERNAL")
    service.stack.take_calls()
    await service.owner.execute(USERS)
    assert service.stack.take_calls() == [], "nothing is sent with anybody else's credentials"
    service.stack.gate.faults = ()
    service.pass_time(5)
    await service.owner.data(USERS)


async def test_a_new_tenant_gets_an_internal_error_and_is_served_when_sts_is_back(service: ServiceWithClock) -> None:
    await service.owner.data(USERS)
    newcomer = replace(service.owner, tenant=await service.stack.new_tenant())
    newcomer = replace(newcomer, token=service.stack.api_client(newcomer.tenant).token)
    service.stack.gate.faults = STS_ERRORS
    assert await newcomer.error_code(USERS) == "INTERNAL"
    await service.owner.data(USERS)
    service.stack.gate.faults = ()
    service.pass_time(5)
    await newcomer.data(USERS)
