"""A query runs during the check for a revocation, and its response waits. A mutation starts after the check."""

import asyncio
from dataclasses import dataclass, field

import pytest

from keyfence.errors import Internal, KeyfenceError, Throttled, Unauthenticated
from keyfence.graphql.executor import RequestInfo
from tests.fakes.asgi_client import AsgiResponse, post
from tests.service.http.bookshop_endpoint import TOKEN, endpoint

LIST = "{ books(first: 1) { edges { node { title } } } }"
ADD = 'mutation { add(book: {title: "x"}) { title } }'


@dataclass
class PausedCheckApi:
    """An API whose check for a revocation lasts until `decide` is called."""

    decided: asyncio.Event = field(default_factory=asyncio.Event)
    refusal: KeyfenceError | None = None
    started_operations: list[str] = field(default_factory=list)

    async def check_revocation(self, _: str, *, may_write: bool) -> None:
        await self.decided.wait()
        if self.refusal:
            raise self.refusal

    def make_context(self, caller: str, info: RequestInfo) -> str:
        self.started_operations.append(info.kind.value)
        return caller

    def send(self, query: str) -> "asyncio.Task[AsgiResponse]":
        app = endpoint(check_revocation=self.check_revocation, make_context=self.make_context)
        return asyncio.ensure_future(post(app, {"query": query}, authorization=TOKEN))

    def decide(self, refusal: KeyfenceError | None = None) -> None:
        self.refusal = refusal
        self.decided.set()


async def run_event_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_query_runs_during_the_check_and_is_answered_after_it() -> None:
    api = PausedCheckApi()
    pending_response = api.send(LIST)
    await run_event_loop()
    assert (api.started_operations, pending_response.done()) == (["query"], False)
    api.decide()
    assert (await pending_response).status == 200


async def test_a_mutation_starts_after_the_check() -> None:
    api = PausedCheckApi()
    pending_response = api.send(ADD)
    await run_event_loop()
    assert (api.started_operations, pending_response.done()) == ([], False)
    api.decide()
    assert ((await pending_response).status, api.started_operations) == (200, ["mutation"])


@pytest.mark.parametrize("query", [LIST, ADD, "{", "{ nothing }"])
@pytest.mark.parametrize(
    ("refusal", "status"),
    [(Unauthenticated("no"), 401), (Throttled("later", retryAfterMs=5), 429), (Internal("oh"), 500)],
    ids=str,
)
async def test_a_caller_whose_token_is_revoked_gets_no_data(query: str, refusal: KeyfenceError, status: int) -> None:
    api = PausedCheckApi()
    pending_response = api.send(query)
    await run_event_loop()
    api.decide(refusal)
    response = await pending_response
    assert (response.status, "data" in response.json()) == (status, False)
    assert "mutation" not in api.started_operations
