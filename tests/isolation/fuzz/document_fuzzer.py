"""`DocumentFuzzer`: sends random documents of one tenant, and collects what is wrong with the responses."""

import asyncio
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import orjson
from graphql import GraphQLSchema

from tests.fakes.asgi_client import AsgiResponse
from tests.isolation.fuzz.argument_values import ArgumentValues
from tests.isolation.fuzz.canary_tenant import CanaryTenant, cursors_in, ids_in
from tests.isolation.fuzz.random_documents import RandomRequest, random_request
from tests.isolation.fuzz.request_sender import send
from tests.isolation.fuzz.responses import problems_of
from tests.random_run import RandomRun
from tests.stack import ApiClient, ServiceStack

MAX_PROBLEMS = 5
"""After this number of problems the fuzzer stops."""
MAX_SEEN = 100
"""The number of ids and cursors that the fuzzer remembers of its own responses."""


IDS_IN_DOCUMENT = 6
"""The number of own ids that one document can name. With few ids, several fields of a document load the same object."""
ODDNESS = (0.0, 0.05, 0.1, 0.3)
"""How odd documents are. Each document has one of these shares of odd values."""


@dataclass(slots=True, kw_only=True)
class DocumentFuzzer:
    """Sends documents of the `clients`, which know the values `own`.

    `neighbour` owns the texts that no response may contain."""

    stack: ServiceStack
    schema: GraphQLSchema
    run: RandomRun
    clients: Sequence[ApiClient]
    own: Mapping[str, Sequence[str]]
    neighbour: CanaryTenant
    problems: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    """The number of responses with data, and with each code."""
    fields_with_data: set[str] = field(default_factory=set)
    """The root fields that returned a value at least once."""
    shown_to_owner: int = 0
    """The number of documents whose response shows a canary if the neighbour itself sends them."""
    _seen_ids: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_SEEN))
    _seen_cursors: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_SEEN))

    async def run_cases(self, operation: str) -> None:
        for case in range(self.run.examples):
            random = self.run.random_of(f"{operation}/{case}")
            request = random_request(self.schema, operation, self._values(random))
            client = random.choice(self.clients)
            if operation == "query" and case % 4 == 0:
                response, for_owner = await self._send_with_owner(client, request, random)
                self.shown_to_owner += bool(self.neighbour.found_in(for_owner.body.decode()))
            else:
                response = await send(client, request, random)
            self._check(f"{self.run} case {operation}/{case}", request, response)
            self.stack.take_calls()
            if len(self.problems) >= MAX_PROBLEMS:
                return

    async def _send_with_owner(
        self, client: ApiClient, request: RandomRequest, random: Random
    ) -> tuple[AsgiResponse, AsgiResponse]:
        """Sends the document as the caller and as the neighbour at the same time. So both use the same caches."""
        return await asyncio.gather(
            send(client, request, random), send(self.neighbour.client, request, Random(random.random()))
        )

    def _values(self, random: Random) -> ArgumentValues:
        own: Mapping[str, Sequence[str]] = {
            **self.own,
            "id": random.sample([*self.own["id"], *self._seen_ids], IDS_IN_DOCUMENT),
            "after": [*self.own["after"], *self._seen_cursors],
        }
        return ArgumentValues(random, own, self.neighbour.values, random.choice(ODDNESS))

    def _check(self, case: str, request: RandomRequest, response: AsgiResponse) -> None:
        text = response.body.decode(errors="replace")
        problems = [*problems_of(response), *(f"shows {secret}" for secret in self.neighbour.found_in(text))]
        if problems:
            self.problems.append(
                f"{case}: {problems} in {text[:600]} for {request.query[:2_000]} {request.variables[:600]}"
            )
            return
        answer = orjson.loads(response.body)
        self._count(answer)
        data = answer.get("data")
        self._seen_cursors.extend(cursors_in(data))
        self._seen_ids.extend(sorted(ids_in(response.body.decode()) - set(self.neighbour.values["id"])))

    def _count(self, answer: Mapping[str, object]) -> None:
        errors, data = answer.get("errors"), answer.get("data")
        if isinstance(errors, list):
            self.outcomes.update(error["extensions"]["code"] for error in errors)
        if isinstance(data, dict) and any(data.values()):
            self.outcomes["data"] += 1
            self.fields_with_data.update(name.partition("_")[2] for name, value in data.items() if value)
