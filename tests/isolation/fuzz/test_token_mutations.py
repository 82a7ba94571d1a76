"""A changed token is refused, unless the change is one of a few harmless ones. No token shows a neighbour's data."""

from dataclasses import dataclass

import jwt
import pytest
from jwt import PyJWS

from tests import tier
from tests.data.operator_requests import TenantApplicant
from tests.fakes.asgi_client import JSON, AsgiResponse, send_request
from tests.isolation.fuzz.canary_tenant import CanaryTenant, create_canary_tenant
from tests.isolation.fuzz.responses import problems_of
from tests.isolation.fuzz.token_draft import TokenDraft
from tests.isolation.fuzz.token_mutations import TokenMutation, token_mutations
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

COMBINATIONS = tier.size(default=100, full=1_500)
QUERY = b'{"query": "{ viewer { tenant { id } } users { edges { node { id name } } } }"}'
IGNORED_PARTS = (
    *(f"header {name}" for name in ("jwk", "jku", "x5u", "x5c", "cty", "zip", "enc")),
    "claim groups",
)
"""The verifier does not read these parts. A key that a token contains or names is not used."""
REFUSED_IN_EVERY_PART = ("9,000 characters", "surrogate", "twice, the neighbour first")
ANY_TEXT = frozenset({"other text", "upper case", "neighbour", "neighbour's key"})
HARMLESS = {
    "header typ": {"missing", "null", "twice"},
    "header crit": {"missing"},
    "claim aud": {"list of itself"},
    "claim sub": ANY_TEXT | {"full width", "blank before", "blank after"},
    "claim jti": ANY_TEXT | {"full width", "blank before", "blank after"},
    "claim nbf": {"missing", "null", "zero", "fraction", "twice"},
    "claim scope": ANY_TEXT | {"missing", "null", "empty", "300 characters", "twice"},
    "signature": {"(r, n - s)"},
    "text": {"blank after", "tab after", "line end after"},
    "scheme": {"'bearer '", "'BEARER '", "'Bearer  '"},
}
"""Changes after which the token is still valid. Its tenant is the same after each of them. The unchanged token has no
`typ`, `nbf` and `scope`, so the change "twice" adds each of them once, as null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFuzzer:
    """Sends changed tokens of a tenant that has its own issuer. The id of its neighbour begins with its own id."""

    stack: ServiceStack
    tenant: str
    draft: TokenDraft
    mutations: list[TokenMutation]
    neighbour: CanaryTenant

    async def problems(self, *mutations: TokenMutation) -> list[str]:
        """Sends a token with all these changes, and returns what is wrong with the response."""
        draft = self.draft
        for mutation in mutations:
            draft = mutation.change(draft)
        response = await self._send(draft)
        is_accepted = all(is_harmless(mutation) for mutation in mutations)
        problems = [*problems_of(response), *self.neighbour.found_in(response.body.decode())]
        if is_accepted and f'"tenant":{{"id":"{self.tenant}"}}' not in response.body.decode():
            problems.append("a valid token is refused")
        if not is_accepted and (response.status != 401 or response.codes() != ["UNAUTHENTICATED"]):
            problems.append(f"status {response.status} instead of 401")
        return [f"{', '.join(map(str, mutations))}: {problem} in {response.body[:300]!r}" for problem in problems]

    async def _send(self, draft: TokenDraft) -> AsgiResponse:
        headers = [("content-type", JSON), ("authorization", draft.authorization())]
        return await send_request(self.stack.application, QUERY, method="POST", headers=headers)


def is_harmless(mutation: TokenMutation) -> bool:
    if mutation.part == "header b64" and mutation.name == "false":  # the claims would not be in base64 (RFC 7797)
        return False
    if mutation.part in (*IGNORED_PARTS, "header b64"):
        return mutation.name not in REFUSED_IN_EVERY_PART
    return mutation.name in HARMLESS.get(mutation.part, ())


@pytest.fixture
async def fuzzer(stack: ServiceStack) -> TokenFuzzer:
    applicant = TenantApplicant.named()
    provider, neighbour = applicant.provider, await create_canary_tenant(stack, f"{applicant.id}0", "n")
    await applicant.onboard(stack)
    claims = jwt.decode(provider.token(tenant=applicant.id), options={"verify_signature": False})
    draft = TokenDraft(
        header=(("alg", "ES256"), ("kid", provider.kid)),
        claims=tuple(claims.items()),
        sign=lambda content: PyJWS().get_algorithm_by_name("ES256").sign(content, provider.key),
    )
    return TokenFuzzer(
        stack=stack,
        tenant=applicant.id,
        draft=draft,
        mutations=token_mutations(provider.key, neighbour.client.tenant),
        neighbour=neighbour,
    )


async def test_exactly_the_harmless_changes_leave_a_token_valid(fuzzer: TokenFuzzer) -> None:
    assert await fuzzer.problems() == []
    assert [problem for mutation in fuzzer.mutations for problem in await fuzzer.problems(mutation)] == []


async def test_random_combinations_of_changes_are_valid_only_if_all_of_them_are_harmless(fuzzer: TokenFuzzer) -> None:
    run = RandomRun.from_environment("FUZZ", COMBINATIONS)
    harmless = [mutation for mutation in fuzzer.mutations if is_harmless(mutation)]
    for case in range(run.examples):
        random = run.random_of(f"token/{case}")
        chosen = random.sample(random.choice((fuzzer.mutations, harmless)), 3)
        by_part = {mutation.part: mutation for mutation in chosen}
        assert await fuzzer.problems(*by_part.values()) == [], f"{run} case token/{case}"
