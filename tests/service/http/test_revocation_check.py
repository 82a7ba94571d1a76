"""A query runs during the check for a revocation, and its answer waits. A mutation does not start before its end."""

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
class Scene:
    """An endpoint whose check lasts until `decide` is called. `begun` has the operations that started meanwhile."""

    looking: asyncio.Event = field(default_factory=asyncio.Event)
    refusal: KeyfenceError | None = None
    begun: list[str] = field(default_factory=list)

    async def check_revocation(self, _: str) -> None:
        await self.looking.wait()
        if self.refusal:
            raise self.refusal

    def make_context(self, caller: str, info: RequestInfo) -> str:
        self.begun.append(info.kind.value)
        return caller

    def ask(self, query: str) -> "asyncio.Task[AsgiResponse]":
        app = endpoint(check_revocation=self.check_revocation, make_context=self.make_context)
        return asyncio.ensure_future(post(app, {"query": query}, authorization=TOKEN))

    def decide(self, refusal: KeyfenceError | None = None) -> None:
        self.refusal = refusal
        self.looking.set()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_query_runs_during_the_check_and_is_answered_after_it() -> None:
    scene = Scene()
    asked = scene.ask(LIST)
    await settle()
    assert (scene.begun, asked.done()) == (["query"], False)
    scene.decide()
    assert (await asked).status == 200


async def test_a_mutation_starts_after_the_check() -> None:
    scene = Scene()
    asked = scene.ask(ADD)
    await settle()
    assert (scene.begun, asked.done()) == ([], False)
    scene.decide()
    assert ((await asked).status, scene.begun) == (200, ["mutation"])


@pytest.mark.parametrize("query", [LIST, ADD, "{", "{ nothing }"])
@pytest.mark.parametrize(
    ("refusal", "status"),
    [(Unauthenticated("no"), 401), (Throttled("later", retryAfterMs=5), 429), (Internal("oh"), 500)],
    ids=str,
)
async def test_a_caller_whose_token_is_revoked_gets_no_data(query: str, refusal: KeyfenceError, status: int) -> None:
    scene = Scene()
    asked = scene.ask(query)
    await settle()
    scene.decide(refusal)
    answered = await asked
    assert (answered.status, "data" in answered.json()) == (status, False)
    assert "mutation" not in scene.begun
