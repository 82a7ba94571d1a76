"""boto3 sessions and client configurations that do not depend on the environment's profile and proxies."""

from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import CredentialProvider, CredentialResolver
from botocore.exceptions import NoCredentialsError

from keyfence_iam.credentials import Credentials


def default_boto_session() -> boto3.Session:
    """Returns a session with the credentials that boto3's own chain finds, which boto3 refreshes before they expire.

    Raises NoCredentialsError if the chain finds none. STS is called at its regional endpoint.
    """
    session = botocore.session.Session()
    session.set_config_variable("sts_regional_endpoints", "regional")
    if session.get_credentials() is None:
        raise NoCredentialsError
    return boto3.Session(botocore_session=session)


def boto_session_with(credentials: Credentials) -> boto3.Session:
    """Returns a session that signs with these credentials."""
    session = _session_without_profile()
    session.set_credentials(credentials.access_key, credentials.secret_key, credentials.token)
    return boto3.Session(botocore_session=session)


def boto_session_from(provider: CredentialProvider) -> boto3.Session:
    """Returns a session that takes its credentials from this provider alone."""
    session = _session_without_profile()
    session.register_component("credential_provider", CredentialResolver([provider]))
    return boto3.Session(botocore_session=session)


def client_config(endpoint_url: str | None, **options: Any) -> Config:
    """Returns a client configuration. A plain http endpoint is a local one and is called without a proxy."""
    if (endpoint_url or "").startswith("http:"):
        options["proxies"] = {}
    return Config(**options)


def _session_without_profile() -> botocore.session.Session:
    """Ignores AWS_PROFILE: it may name a profile that does not exist on this machine."""
    no_profile: Any = {"profile": (None, None, None, None)}
    return botocore.session.Session(session_vars=no_profile)
