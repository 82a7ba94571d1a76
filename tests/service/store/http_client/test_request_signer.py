"""The signer of the DynamoDB client makes the signatures of botocore."""

from datetime import UTC, datetime
from email.parser import HeaderParser
from unittest.mock import patch

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.dynamodb import request_signer
from keyfence.store.dynamodb.endpoint import resolve_endpoint
from keyfence.store.dynamodb.request_signer import RequestSigner
from keyfence_iam.credentials import Credentials

URLS = st.sampled_from(
    [
        "http://127.0.0.1:8001",
        "http://localhost:80/",
        "http://[::1]:8001",
        "http://DynamoDB.example/some/path/",
        "http://dynamodb.example/a//b/../c~d%20e",
    ]
)
VISIBLE_TEXT = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=40)
SECRET_KEYS = st.text(min_size=1, max_size=40)
CREDENTIALS = st.builds(Credentials, VISIBLE_TEXT, SECRET_KEYS, st.none() | VISIBLE_TEXT)
OPERATIONS = st.sampled_from(["GetItem", "Query", "TransactWriteItems"])
SECONDS = st.integers(0, 4_000_000_000)
REGIONS = st.sampled_from(["us-east-1", "us-gov-west-1", "cn-north-1"])


def headers_of(request: bytes) -> dict[str, str]:
    head = request.partition(b"\r\n\r\n")[0].partition(b"\r\n")[2].decode()
    return {name.lower(): value for name, value in HeaderParser().parsestr(head).items()}


def botocore_headers(
    url: str, region: str, operation: str, body: bytes, credentials: Credentials, second: float
) -> dict[str, str]:
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    request = AWSRequest("POST", url, headers, body)
    keys = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
    now = datetime.fromtimestamp(second, UTC)
    with patch.object(botocore.auth, "get_current_datetime", lambda: now):
        SigV4Auth(keys, "dynamodb", region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@given(
    url=URLS,
    region=REGIONS,
    calls=st.lists(st.tuples(OPERATIONS, st.binary(max_size=200), CREDENTIALS, SECONDS), min_size=1, max_size=4),
)
def test_each_call_of_a_signer_has_the_signature_of_botocore(
    url: str, region: str, calls: list[tuple[str, bytes, Credentials, int]]
) -> None:
    now = [0.0]
    signer = RequestSigner(resolve_endpoint(region, url), clock=lambda: now[0])
    for operation, body, credentials, second in calls:
        now[0] = second + 0.5
        request = signer.sign(operation, body, credentials)
        expected = botocore_headers(url, region, operation, body, credentials, second)
        assert expected.items() <= headers_of(request).items()
        assert request.endswith(b"\r\n\r\n" + body)
        assert headers_of(request)["content-length"] == str(len(body))


def test_two_secret_keys_with_one_access_key_sign_differently() -> None:
    """A signer that kept keys by access key would accept a wrong secret key."""
    signer = RequestSigner(resolve_endpoint("us-east-1", "http://127.0.0.1"), clock=lambda: 0.0)
    first, second, again = (signer.sign("Query", b"{}", Credentials("AKIA", secret)) for secret in ("a", "b", "a"))
    assert first == again != second


def test_the_signature_of_the_next_day_has_another_key() -> None:
    now = [86_399.0]
    signer = RequestSigner(resolve_endpoint("us-east-1", "http://127.0.0.1"), clock=lambda: now[0])
    credentials = Credentials("AKIA", "secret")
    assert "19700101/us-east-1" in headers_of(signer.sign("Query", b"{}", credentials))["authorization"]
    now[0] = 86_400.0
    request = signer.sign("Query", b"{}", credentials)
    expected = botocore_headers("http://127.0.0.1", "us-east-1", "Query", b"{}", credentials, 86_400)
    assert headers_of(request)["authorization"] == expected["authorization"]


def test_the_number_of_kept_keys_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_signer, "MAX_SIGNING_KEYS", 3)
    signer = RequestSigner(resolve_endpoint("us-east-1", "http://127.0.0.1"), clock=lambda: 0.0)
    for number in range(10):
        signer.sign("Query", b"{}", Credentials("AKIA", f"secret-{number}"))
    assert [secret for secret, _ in signer._signing_keys] == ["secret-7", "secret-8", "secret-9"]


@pytest.mark.parametrize(
    "credentials",
    [Credentials("AKIA\r\nx: y", "s"), Credentials("AKIA", "s", "token\n"), Credentials("AKIA", "s", "a\rb")],
)
def test_a_line_break_in_credentials_is_refused(credentials: Credentials) -> None:
    """It would end a header too early, and the rest of the request would be read as another request."""
    signer = RequestSigner(resolve_endpoint("us-east-1", "http://127.0.0.1"))
    with pytest.raises(ValueError, match="line break"):
        signer.sign("Query", b"{}", credentials)
