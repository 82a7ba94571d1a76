"""In production, problems with the settings are named, and the application does not start with any of them."""

import json
import secrets
from collections.abc import Mapping

import pytest

from keyfence.app.production import application, startup_problems
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.settings import BadSettings, IssuerSettings, Settings

VALID_ISSUER = {"issuer": "https://id.example.com", "jwks_uri": "https://id.example.com/keys"}


@pytest.fixture(autouse=True)
def _aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def settings(*issuers: Mapping[str, object], **changes: object) -> Settings:
    issuer_settings = tuple(IssuerSettings.model_validate(issuer) for issuer in issuers or (VALID_ISSUER,))
    return Settings.model_validate({"region": "eu-west-1", "issuers": issuer_settings, "cursor_keys": (), **changes})


def test_good_settings_have_no_startup_problem() -> None:
    assert startup_problems(settings()) == []


def test_unusable_keys_and_repeated_issuers_are_named() -> None:
    (bad,) = startup_problems(settings({"issuer": "https://a.example", "jwks": {"keys": [{"kty": "EC"}]}}))
    assert bad.startswith("KEYFENCE_ISSUERS: issuer https://a.example:")
    (twice,) = startup_problems(settings(VALID_ISSUER, VALID_ISSUER))
    assert "configured twice" in twice


def test_missing_credentials_and_an_unknown_profile_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    assert any(line.startswith("AWS credentials:") for line in startup_problems(settings()))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert any("nobody" in line for line in startup_problems(settings()))


def test_production_does_not_start_on_development_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))
    monkeypatch.setenv("KEYFENCE_REGION", "eu-west-1")
    monkeypatch.setenv("KEYFENCE_ROLE_ARN_PREFIX", "arn:aws:iam::123456789012:role/keyfence-")
    monkeypatch.setenv("KEYFENCE_CURSOR_KEYS", secrets.token_urlsafe(32))
    monkeypatch.setenv("KEYFENCE_INDEX_KEY", secrets.token_urlsafe(32))
    monkeypatch.setenv("KEYFENCE_ISSUERS", json.dumps([{"issuer": "https://a.example", "jwks": issuer.jwks()}]))
    with pytest.raises(BadSettings, match="development"):
        application()
    monkeypatch.setenv("KEYFENCE_ISSUERS", json.dumps([VALID_ISSUER]))
    assert application().routes


def test_domains_that_do_not_fit_together_are_a_startup_problem() -> None:
    (problem,) = startup_problems(settings().model_copy(update={"domains": ("-orders",)}))
    assert problem == "KEYFENCE_DOMAINS: the domain customers needs orders; add it, or leave out customers too"
