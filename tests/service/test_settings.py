"""Settings are read from the environment, and every problem with them is named."""

import json
import os
import secrets
from pathlib import Path

import pytest

from keyfence.development_keys import DEVELOPMENT_ISSUER
from keyfence.local.data_directory import cursor_key, index_key
from keyfence.local.development_issuer import load_development_issuer
from keyfence.settings import BadSettings, IssuerSettings, Settings, load_settings
from keyfence.settings_checks import load_and_check, production_problems

URI = "https://id.example.com/keys"
ROLES = "arn:aws:iam::123456789012:role/keyfence-"
BAD_KEYS = [
    pytest.param("not base64!", "base64", id="text"),
    pytest.param("é" * 43, "base64", id="unicode"),
    pytest.param(secrets.token_urlsafe(16), "16 bytes", id="short"),
    pytest.param("A" * 44, "33 bytes", id="long"),
]
GOOD_ISSUER = {"issuer": "https://id.example.com", "jwks_uri": URI}


@pytest.fixture(autouse=True)
def _without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KEYFENCE_")]:
        monkeypatch.delenv(name)


def settings(**changes: object) -> Settings:
    valid_settings = {
        "issuers": [GOOD_ISSUER],
        "cursor_keys": [secrets.token_urlsafe(32)],
        "index_key": secrets.token_urlsafe(32),
        "role_arn_prefix": ROLES,
    }
    return load_settings(**{**valid_settings, **changes})


def issuer_problems(**changes: object) -> list[str]:
    return production_problems(settings(issuers=[{**GOOD_ISSUER, **changes}]))


def test_complete_settings_have_no_problem() -> None:
    assert production_problems(settings()) == []


def test_all_missing_settings_are_named() -> None:
    _, problems = load_and_check()
    assert [text.split()[0] for text in problems] == [
        "KEYFENCE_ISSUERS",
        "KEYFENCE_CURSOR_KEYS",
        "KEYFENCE_INDEX_KEY",
        "KEYFENCE_ROLE_ARN_PREFIX",
    ]


def test_unreadable_values_are_named_beside_missing_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_PORT", "http")
    monkeypatch.setenv("KEYFENCE_ISSUERS", "[{")
    _, problems = load_and_check()
    assert {text.split()[0].rstrip(":") for text in problems} == {
        "KEYFENCE_PORT",
        "KEYFENCE_ISSUERS",
        "KEYFENCE_CURSOR_KEYS",
        "KEYFENCE_INDEX_KEY",
        "KEYFENCE_ROLE_ARN_PREFIX",
    }
    assert len(problems) == 5


def test_a_bad_issuer_is_named_with_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_ISSUERS", json.dumps([GOOD_ISSUER, {"issuer": "https://b", "secret": "hush"}]))
    with pytest.raises(BadSettings, match=r"KEYFENCE_ISSUERS\[1\]\.secret"):
        load_settings()


def test_an_unreadable_value_is_not_repeated_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_PORT", "my-password")
    with pytest.raises(BadSettings) as caught:
        load_settings()
    assert "my-password" not in str(caught.value)


def test_issuers_and_keys_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [secrets.token_urlsafe(32), secrets.token_urlsafe(32)]
    monkeypatch.setenv("KEYFENCE_ISSUERS", json.dumps([GOOD_ISSUER]))
    monkeypatch.setenv("KEYFENCE_CURSOR_KEYS", ", ".join(keys))
    monkeypatch.setenv("KEYFENCE_INDEX_KEY", secrets.token_urlsafe(32))
    monkeypatch.setenv("KEYFENCE_ROLE_ARN_PREFIX", ROLES)
    loaded, problems = load_and_check()
    assert problems == []
    assert loaded.issuers == (IssuerSettings(issuer="https://id.example.com", jwks_uri=URI),)
    assert [key.get_secret_value() for key in loaded.cursor_keys] == keys


def test_overrides_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_TABLE", "theirs")
    monkeypatch.setenv("KEYFENCE_ISSUERS", "not json")
    assert load_settings(table="ours", issuers=()).table == "ours"


def test_an_issuer_has_one_source_of_keys() -> None:
    problems = issuer_problems(jwks={"keys": [{"kid": "a"}]})
    assert problems == ["KEYFENCE_ISSUERS[0] has jwks and jwks_uri; remove one of them"]


@pytest.mark.parametrize(
    ("issuer", "is_problem"),
    [
        ("https://id.example.com", False),
        ("http://localhost:9", False),
        ("http://id.example.com", True),
        ("id.example.com", True),
    ],
)
def test_an_issuer_without_keys_needs_a_url_with_tls_for_its_metadata(issuer: str, is_problem: bool) -> None:
    problems = issuer_problems(issuer=issuer, jwks_uri=None)
    assert any("its metadata cannot be fetched by https" in problem for problem in problems) == is_problem


def test_an_audience_of_tenants_and_of_operators_is_a_problem() -> None:
    issuers = [{**GOOD_ISSUER, "audiences": ["https://api.example.com"]}]
    (problem,) = production_problems(settings(issuers=issuers, admin_issuers=issuers))
    assert problem == "KEYFENCE_ADMIN_ISSUERS accepts an audience of tenants' tokens: https://api.example.com"


@pytest.mark.parametrize("jwks", [{}, {"keys": []}, {"keys": "none"}], ids=str)
def test_inline_keys_without_a_key_are_a_problem(jwks: dict[str, object]) -> None:
    (problem,) = issuer_problems(jwks_uri=None, jwks=jwks)
    assert "without keys" in problem


@pytest.mark.parametrize(
    "uri",
    ["http://id.example.com/keys", "ftp://localhost/keys", "id.example.com", "https://", "http://[::1", "file:///k"],
)
def test_keys_fetched_without_tls_are_a_problem(uri: str) -> None:
    (problem,) = issuer_problems(jwks_uri=uri)
    assert problem == f"KEYFENCE_ISSUERS[0] has a jwks_uri that is not https: {uri}"


@pytest.mark.parametrize("uri", ["http://localhost:9/k", "http://127.0.0.1/k", "http://[::1]:9/k", "https://a.b/k"])
def test_keys_over_https_or_from_this_machine_are_fine(uri: str) -> None:
    assert issuer_problems(jwks_uri=uri) == []


def test_an_issuer_with_an_invalid_tenant_id_is_a_problem() -> None:
    (problem,) = issuer_problems(tenant="ACME#")
    assert "'ACME#'" in problem


def test_issuers_of_operators_are_checked_too() -> None:
    (problem,) = production_problems(settings(admin_issuers=[{"issuer": "ops"}]))
    assert problem.startswith("KEYFENCE_ADMIN_ISSUERS[0]")


def test_one_audience_for_tenants_and_operators_is_a_problem() -> None:
    (problem,) = production_problems(settings(audience="one", admin_audience="one"))
    assert problem.startswith("KEYFENCE_ADMIN_AUDIENCE")


@pytest.mark.parametrize(("key", "words"), BAD_KEYS)
def test_a_bad_cursor_key_is_named_by_its_position_and_never_shown(key: str, words: str) -> None:
    (problem,) = production_problems(settings(cursor_keys=[secrets.token_urlsafe(32), key]))
    assert problem.startswith("KEYFENCE_CURSOR_KEYS[1]")
    assert words in problem
    assert key not in problem


def test_the_development_key_of_a_local_issuer_is_refused_under_any_name(tmp_path: Path) -> None:
    jwks = load_development_issuer(tmp_path).jwks()
    (problem,) = issuer_problems(jwks=jwks, jwks_uri=None)
    assert "development issuer" in problem


def test_the_development_issuer_is_refused_with_any_key() -> None:
    (problem,) = issuer_problems(issuer=DEVELOPMENT_ISSUER)
    assert "development issuer" in problem


def test_the_development_cursor_key_is_refused(tmp_path: Path) -> None:
    (problem,) = production_problems(settings(cursor_keys=[cursor_key(tmp_path)]))
    assert problem == "KEYFENCE_CURSOR_KEYS[0] is the development key of `keyfence dev`"


@pytest.mark.parametrize(("key", "words"), BAD_KEYS)
def test_a_bad_index_key_is_named_and_never_shown(key: str, words: str) -> None:
    (problem,) = production_problems(settings(index_key=key))
    assert problem.startswith("KEYFENCE_INDEX_KEY ")
    assert words in problem
    assert key not in problem


def test_the_development_index_key_is_refused_on_aws_and_usable_on_a_laptop(tmp_path: Path) -> None:
    development = settings(index_key=index_key(tmp_path))
    assert production_problems(development) == ["KEYFENCE_INDEX_KEY is the development key of `keyfence dev`"]
    assert len(development.index_secret) == 32


def test_a_missing_index_key_is_an_error_when_it_is_needed() -> None:
    with pytest.raises(BadSettings, match="KEYFENCE_INDEX_KEY is missing"):
        _ = settings(index_key=None).index_secret


def test_cursor_keys_become_their_bytes_in_order(tmp_path: Path) -> None:
    secret = bytes(range(32))
    development_key = cursor_key(tmp_path)
    cursor_secrets = settings(
        cursor_keys=["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", development_key]
    ).cursor_secrets
    assert cursor_secrets[0] == secret
    assert [len(key) for key in cursor_secrets] == [32, 32]


def test_settings_do_not_show_their_keys() -> None:
    key = secrets.token_urlsafe(32)
    assert key not in repr(settings(cursor_keys=[key], index_key=key))


@pytest.mark.parametrize(
    "roles",
    [ROLES, "arn:aws-cn:iam::123456789012:role/", "arn:aws-us-gov:iam::123456789012:role/team/a/keyfence-"],
)
def test_roles_of_any_partition_and_path_are_fine(roles: str) -> None:
    assert production_problems(settings(role_arn_prefix=roles)) == []


@pytest.mark.parametrize(
    "roles",
    ["", "keyfence-", "arn:aws:iam::1234:role/k-", "arn:aws:iam::123456789012:user/k-", f"{ROLES}*", f"{ROLES}\n", "é"],
)
def test_roles_that_are_not_the_first_part_of_an_arn_are_a_problem(roles: str) -> None:
    (problem,) = production_problems(settings(role_arn_prefix=roles))
    assert problem.startswith("KEYFENCE_ROLE_ARN_PREFIX is not the first part of role ARNs")


@pytest.mark.parametrize("name", ["endpoint_url", "sts_endpoint_url", "iam_endpoint_url"])
def test_an_endpoint_that_is_no_url_is_a_problem(name: str) -> None:
    (problem,) = production_problems(settings(**{name: "localhost:8001"}))
    assert problem == f"KEYFENCE_{name.upper()} is not an http or https URL: localhost:8001"
    assert production_problems(settings(**{name: "http://localhost:8001"})) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("session_seconds", 899), ("session_seconds", 3601), ("max_sessions", 0), ("sts_calls_per_second", 0)],
)
def test_session_settings_outside_the_limits_of_sts_are_refused(name: str, value: int) -> None:
    with pytest.raises(BadSettings, match=f"KEYFENCE_{name.upper()}"):
        settings(**{name: value})
