"""Checks whether settings are fit for production, and names every problem that they have."""

import binascii
import re
from collections.abc import Iterator

from pydantic import ValidationError

from keyfence.development_keys import DEVELOPMENT_ISSUER, is_development_key
from keyfence.settings import IssuerSettings, Settings, decode_key, messages_without_values
from keyfence.validation import is_http_url, is_https_or_loopback_url, is_https_origin
from keyfence_iam.tenant import InvalidTenantId, parse_tenant_id

KEY_BYTES = 32
"""The size of cursor keys and of the index key. The cursor cipher AES-SIV splits a key of 32 bytes into two keys of
AES-128."""
NEW_KEY_COMMAND = "python -c 'import secrets; print(secrets.token_urlsafe(32))'"

ROLE_ARN_PREFIX = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]*", re.ASCII)
ROLE_ARN_PREFIX_EXAMPLE = "arn:aws:iam::123456789012:role/keyfence-"


def production_problems(settings: Settings) -> list[str]:
    """Returns the reasons why the settings are not fit for production. Each starts with the name of a variable."""
    return [
        *_issuer_problems(settings),
        *_cursor_key_problems(settings),
        *index_key_problems(settings),
        *_role_problems(settings),
        *_endpoint_problems(settings),
        *_origin_problems(settings),
    ]


def index_key_problems(settings: Settings) -> Iterator[str]:
    """Yields the reason why the index key cannot be used on AWS, if there is one."""
    if settings.index_key is None:
        yield f"KEYFENCE_INDEX_KEY is missing: make a key with {NEW_KEY_COMMAND}, once for the whole deployment"
    elif problem := _find_problem_of_key(settings.index_key.get_secret_value()):
        yield f"KEYFENCE_INDEX_KEY {problem}"


def load_and_check() -> tuple[Settings, list[str]]:
    """Returns the settings of the environment, and all reasons why they are not fit for production.

    A value that cannot be read is replaced by its default, so that all other values are checked too."""
    try:
        settings = Settings()
        return settings, production_problems(settings)
    except ValidationError as error:
        unreadable_names = {str(details["loc"][0]) for details in error.errors()}
        settings = Settings(**{name: Settings.model_fields[name].default for name in unreadable_names})
        unreadable_variables = tuple(f"KEYFENCE_{name.upper()}" for name in unreadable_names)
        # The default of a required setting is a problem too, but the value that cannot be read is reported already.
        other_problems = [
            problem for problem in production_problems(settings) if not problem.startswith(unreadable_variables)
        ]
        return settings, [*messages_without_values(error), *other_problems]


def _issuer_problems(settings: Settings) -> Iterator[str]:
    if not settings.issuers and not settings.admin_issuers:
        yield "KEYFENCE_ISSUERS is missing, and so is KEYFENCE_ADMIN_ISSUERS: no token would be accepted"
    for variable, issuers in (
        ("KEYFENCE_ISSUERS", settings.issuers),
        ("KEYFENCE_ADMIN_ISSUERS", settings.admin_issuers),
    ):
        for number, issuer in enumerate(issuers):
            yield from (f"{variable}[{number}] {problem}" for problem in _problems_of_one_issuer(issuer))
    if settings.audience == settings.admin_audience:
        yield "KEYFENCE_ADMIN_AUDIENCE equals KEYFENCE_AUDIENCE: a tenant's token would pass as an operator's"
    elif shared := sorted(settings.tenant_audiences & settings.operator_audiences):
        yield f"KEYFENCE_ADMIN_ISSUERS accepts an audience of tenants' tokens: {shared[0]}"


def _problems_of_one_issuer(issuer: IssuerSettings) -> Iterator[str]:
    if issuer.jwks is not None and issuer.jwks_uri is not None:
        yield "has jwks and jwks_uri; remove one of them"
    if issuer.jwks is None and issuer.jwks_uri is None and not is_https_or_loopback_url(issuer.issuer):
        yield f"has neither jwks nor jwks_uri, and its metadata cannot be fetched by https: {issuer.issuer}"
    if issuer.jwks is not None and not _keys(issuer):
        yield 'has a jwks without keys; write {"keys": [...]}'
    if issuer.jwks_uri is not None and not is_https_or_loopback_url(issuer.jwks_uri):
        yield f"has a jwks_uri that is not https: {issuer.jwks_uri}"
    if issuer.tenant is not None and not _is_tenant_id(issuer.tenant):
        yield f"has a tenant that is not a tenant id: {issuer.tenant!r}"
    if issuer.issuer == DEVELOPMENT_ISSUER or any(is_development_key(_key_id(key)) for key in _keys(issuer)):
        yield "is the development issuer of `keyfence dev`, whose key anyone on that machine can read"


def _keys(issuer: IssuerSettings) -> list[object]:
    keys = (issuer.jwks or {}).get("keys")
    return keys if isinstance(keys, list) else []


def _key_id(key: object) -> str:
    return str(key.get("kid", "")) if isinstance(key, dict) else ""


def _is_tenant_id(text: str) -> bool:
    try:
        parse_tenant_id(text)
    except InvalidTenantId:
        return False
    return True


def _cursor_key_problems(settings: Settings) -> Iterator[str]:
    if not settings.cursor_keys:
        yield f"KEYFENCE_CURSOR_KEYS is missing: make a key with {NEW_KEY_COMMAND}"
    for number, key in enumerate(settings.cursor_keys):
        problem = _find_problem_of_key(key.get_secret_value())
        if problem:
            yield f"KEYFENCE_CURSOR_KEYS[{number}] {problem}"


def _find_problem_of_key(text: str) -> str | None:
    if is_development_key(text):
        return "is the development key of `keyfence dev`"
    try:
        size = len(decode_key(text))
    except (binascii.Error, ValueError):
        return "is not URL-safe base64"
    return None if size == KEY_BYTES else f"has {size} bytes; it needs {KEY_BYTES}"


def _role_problems(settings: Settings) -> Iterator[str]:
    prefix, example = settings.role_arn_prefix, ROLE_ARN_PREFIX_EXAMPLE
    if prefix is None:
        yield f"KEYFENCE_ROLE_ARN_PREFIX is missing: set it to the first part of all role ARNs, such as {example}"
    elif not ROLE_ARN_PREFIX.fullmatch(prefix):
        yield f"KEYFENCE_ROLE_ARN_PREFIX is not the first part of role ARNs, such as {example}: {prefix}"


def _endpoint_problems(settings: Settings) -> Iterator[str]:
    for name in ("endpoint_url", "sts_endpoint_url", "iam_endpoint_url"):
        url = getattr(settings, name)
        if url is not None and not is_http_url(url):
            yield f"KEYFENCE_{name.upper()} is not an http or https URL: {url}"


def _origin_problems(settings: Settings) -> Iterator[str]:
    for name in ("origins", "admin_origins"):
        for origin in getattr(settings, name):
            if not is_https_origin(origin):
                yield f"KEYFENCE_{name.upper()} has {origin!r}, which is not an origin like https://app.example.com"
