"""The DynamoDB client finds the endpoint, the certificates and the proxy that boto3 would use."""

import ssl
from pathlib import Path

import pytest

from keyfence.store.dynamodb.endpoint import Endpoint, Proxy, resolve_endpoint

VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("url", "host", "port", "host_header", "path"),
    [
        ("http://127.0.0.1:8001", "127.0.0.1", 8001, "127.0.0.1:8001", "/"),
        ("http://localhost:80/", "localhost", 80, "localhost", "/"),
        ("http://[::1]:8001/x", "::1", 8001, "[::1]:8001", "/x"),
        ("https://dynamodb.example:443", "dynamodb.example", 443, "dynamodb.example", "/"),
        ("https://dynamodb.example:80", "dynamodb.example", 80, "dynamodb.example:80", "/"),
    ],
)
def test_a_url_has_a_host_a_port_and_a_path(url: str, host: str, port: int, host_header: str, path: str) -> None:
    endpoint = resolve_endpoint("eu-west-1", url)
    assert (endpoint.host, endpoint.port, endpoint.host_header, endpoint.path) == (host, port, host_header, path)
    assert (endpoint.tls is None) == url.startswith("http:")


@pytest.mark.parametrize(
    ("region", "variables", "host"),
    [
        ("eu-west-1", {}, "dynamodb.eu-west-1.amazonaws.com"),
        ("cn-north-1", {}, "dynamodb.cn-north-1.amazonaws.com.cn"),
        ("us-east-1", {"AWS_USE_FIPS_ENDPOINT": "true"}, "dynamodb-fips.us-east-1.amazonaws.com"),
        ("us-east-1", {"AWS_USE_DUALSTACK_ENDPOINT": "true"}, "dynamodb.us-east-1.api.aws"),
        ("us-east-1", {"AWS_ENDPOINT_URL_DYNAMODB": "https://dynamodb.internal"}, "dynamodb.internal"),
    ],
)
def test_without_a_url_the_endpoint_is_that_of_boto3(
    region: str, variables: dict[str, str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    endpoint = resolve_endpoint(region, None)
    assert (endpoint.host, endpoint.port, endpoint.region) == (host, 443, region)


@pytest.mark.parametrize(
    "url", ["dynamodb.example", "ftp://x", "http://", "http://x/?a=b", "http://x/a b", "http://x:y"]
)
def test_a_wrong_url_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        resolve_endpoint("eu-west-1", url)


def https_endpoint() -> Endpoint:
    return resolve_endpoint("eu-west-1", "https://dynamodb.example")


@pytest.mark.parametrize(
    ("value", "proxy"),
    [
        ("http://proxy.example:3128", Proxy(host="proxy.example", port=3128)),
        ("proxy.example:3128", Proxy(host="proxy.example", port=3128)),
        ("//proxy.example", Proxy(host="proxy.example", port=80)),
        ("https://proxy.example", Proxy(host="proxy.example", port=443, uses_tls=True)),
        (
            "http://us%40er:p%3Aw@proxy.example:1",
            Proxy(host="proxy.example", port=1, authorization="Basic dXNAZXI6cDp3"),
        ),
    ],
)
def test_https_proxy_names_the_proxy(value: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    assert https_endpoint().proxy == proxy


def test_a_password_of_a_proxy_is_not_in_its_repr() -> None:
    assert "secret" not in repr(Proxy(host="h", port=1, authorization="secret"))


def test_a_wrong_proxy_is_a_value_error_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@proxy.example")
    with pytest.raises(ValueError, match="HTTPS_PROXY") as raised:
        https_endpoint()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "variables", [{}, {"HTTP_PROXY": "http://p"}, {"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}]
)
def test_no_proxy_is_used_without_https_proxy_or_with_no_proxy(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert https_endpoint().proxy is None


def test_a_local_endpoint_without_tls_has_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    assert resolve_endpoint("eu-west-1", "http://localhost:8001").proxy is None


def test_tls_has_at_least_version_1_2_and_checks_certificates_and_host_names() -> None:
    tls = https_endpoint().tls
    assert tls is not None
    assert tls.minimum_version is ssl.TLSVersion.TLSv1_2
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls.get_ca_certs()


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_a_missing_file_of_certificates_is_a_value_error(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "missing.pem"))
    with pytest.raises(ValueError, match=r"missing\.pem cannot be read"):
        https_endpoint()
