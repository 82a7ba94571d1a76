"""Every request that botocore signs is accepted, also if its headers or parameters are in another order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.sigv4 import SignatureVerifier
from tests.iam.gate.manual_time import ManualTime
from tests.iam.gate.sigv4.signed_requests import NOW, TARGET, session_issuer, signed

SESSIONS = session_issuer(ManualTime(NOW))
CREDENTIALS = SESSIONS.issue_service_session("reader").credentials
VERIFIER = SignatureVerifier(SESSIONS, region="us-east-1")
HEADER_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40)
HEADER_NAMES = st.from_regex(r"x-[a-z0-9-]{1,20}", fullmatch=True).filter(lambda name: not name.startswith("x-amz"))
PATH_SEGMENTS = st.lists(st.text("abcXYZ019-._~%", max_size=6).filter(lambda text: "%" not in text), max_size=4)


@pytest.mark.parametrize("service", ["dynamodb", "sts"])
def test_a_signed_request_belongs_to_its_session(
    verifier: SignatureVerifier, issuer: SessionIssuer, credentials: Credentials, service: str
) -> None:
    session = verifier.verify(signed(credentials, service=service), service)
    assert session is issuer.get(credentials.access_key, credentials.token or "")


@given(
    body=st.binary(max_size=200),
    headers=st.dictionaries(HEADER_NAMES, HEADER_VALUES, max_size=5),
    segments=PATH_SEGMENTS,
)
def test_any_request_that_botocore_signs_is_accepted(body: bytes, headers: dict[str, str], segments: list[str]) -> None:
    url = f"http://gate.test:8001/{'/'.join(segments)}"
    request = signed(CREDENTIALS, body=body, headers={**TARGET, **headers}, url=url)
    assert VERIFIER.verify(request, "dynamodb").access_key == CREDENTIALS.access_key


@given(st.lists(st.tuples(st.from_regex(r"[a-zA-Z0-9]{1,5}", fullmatch=True), st.text("abc019-._~")), max_size=6))
def test_the_order_of_the_query_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    query = "&".join(f"{name}={value}" for name, value in pairs)
    request = signed(CREDENTIALS, url=f"http://gate.test/?{query}")
    reordered = replace(request, query="&".join(reversed(query.split("&"))).encode())
    assert VERIFIER.verify(reordered, "dynamodb").name == "local"


def test_the_order_of_headers_and_their_white_space_do_not_matter(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    request = signed(credentials, headers={**TARGET, "X-Note": "a b c"})
    headers = [(name, b"  a    b \t c " if name == b"x-note" else value) for name, value in reversed(request.headers)]
    assert verifier.verify(replace(request, headers=headers), "dynamodb").name == "local"


def test_a_repeated_header_is_joined_by_commas_in_its_order(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    request = signed(credentials, headers={**TARGET, "X-Note": "first,second"})
    others = [header for header in request.headers if header[0] != b"x-note"]
    split_header = replace(request, headers=[*others, (b"x-note", b"first"), (b"x-note", b"second")])
    assert verifier.verify(split_header, "dynamodb").name == "local"


def test_unsigned_headers_that_services_ignore_are_accepted(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    request = signed(credentials)
    added = [(b"connection", b"keep-alive"), (b"x-amzn-trace-id", b"Root=1"), (b"accept-encoding", b"identity")]
    assert verifier.verify(replace(request, headers=[*request.headers, *added]), "dynamodb").name == "local"


def test_a_date_header_replaces_x_amz_date(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = signed(credentials, headers={**TARGET, "Date": "to be set"})
    assert (b"date", b"Mon, 16 Nov 2026 12:00:00 -0000") in request.headers
    assert b"x-amz-date" not in dict(request.headers)
    assert verifier.verify(request, "dynamodb").name == "local"


@pytest.mark.parametrize("minutes", [-15, -1, 0, 1, 15])
def test_clocks_may_differ_by_a_quarter_of_an_hour(
    verifier: SignatureVerifier, clock: ManualTime, credentials: Credentials, minutes: int
) -> None:
    request = signed(credentials)
    clock.now = NOW
    clock.advance(minutes=minutes)
    assert verifier.verify(request, "dynamodb").name == "local"


def test_another_process_with_the_same_key_and_account_accepts_the_request(credentials: Credentials) -> None:
    other_verifier = SignatureVerifier(session_issuer(ManualTime(NOW)), region="us-east-1")
    assert other_verifier.verify(signed(credentials), "dynamodb").role.name == "reader"
