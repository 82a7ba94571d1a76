"""The jwks_uri of a tenant is parsed strictly, and once."""

import pytest

from keyfence.auth.egress import MAX_URI_LENGTH, BadJwksUri, FetchTarget, parse_tenant_uri


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "id.example/jwks",
        "//id.example/jwks",
        "http://id.example/jwks",
        "http://127.0.0.1/jwks",
        "HTTPS://id.example/jwks",
        "ftp://id.example/jwks",
        "file:///etc/passwd",
        "https:///jwks",
        "https://",
        "https://user@id.example/jwks",
        "https://user:secret@id.example/jwks",
        "https://@id.example/jwks",
        "https://id.example/jwks#keys",
        "https://id.example\\@127.0.0.1/jwks",
        "https://id.example/jw ks",
        "https://id.example/\r\nHost: inside",
        "https://id.example/jwks\n",
        "https://id.example:0/jwks",
        "https://id.example:65536/jwks",
        "https://id.example:port/jwks",
        "https://id_1.example/jwks",
        "https://-id.example/jwks",
        "https://id.example./jwks",
        "https://idé.example/jwks",
        "https://%31%32%37.0.0.1/jwks",
        "https://127.0.0.1/jwks",
        "https://10.0.0.1/jwks",
        "https://2130706433/jwks",
        "https://0x7f000001/jwks",
        "https://0177.0.0.1/jwks",
        "https://127.1/jwks",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/jwks",
        "https://[::1]/jwks",
        "https://[::ffff:8.8.8.8]/jwks",
        "https://[fd00:ec2::254]/jwks",
        "https://[fe80::1%25eth0]/jwks",
        "https://[::1/jwks",
    ],
)
def test_an_ambiguous_or_internal_uri_is_refused(uri: str) -> None:
    with pytest.raises(BadJwksUri):
        parse_tenant_uri(uri)


def test_a_uri_of_the_maximum_length_is_accepted_and_a_longer_one_is_not() -> None:
    longest = "https://id.example/".ljust(MAX_URI_LENGTH, "x")
    assert parse_tenant_uri(longest).host == "id.example"
    with pytest.raises(BadJwksUri):
        parse_tenant_uri(longest + "x")


@pytest.mark.parametrize(
    ("uri", "target", "authority"),
    [
        ("https://id.example/jwks", FetchTarget(host="id.example", port=443, request_target="/jwks"), "id.example"),
        ("https://ID.example", FetchTarget(host="id.example", port=443, request_target="/"), "id.example"),
        (
            "https://id.example:8443/a?b=c",
            FetchTarget(host="id.example", port=8443, request_target="/a?b=c"),
            "id.example:8443",
        ),
        ("https://8.8.8.8/jwks", FetchTarget(host="8.8.8.8", port=443, request_target="/jwks"), "8.8.8.8"),
        ("https://[2606:4700::1]:1/", FetchTarget(host="2606:4700::1", port=1, request_target="/"), "[2606:4700::1]:1"),
    ],
)
def test_a_uri_is_parsed_into_the_target_of_the_request(uri: str, target: FetchTarget, authority: str) -> None:
    assert parse_tenant_uri(uri) == target
    assert target.authority == authority
