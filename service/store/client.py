"""The port to DynamoDB, with boto3 behind it: one client, one pool, each call signed with its own credentials."""

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import boto3
import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.credentials import CredentialProvider, CredentialResolver, ReadOnlyCredentials
from botocore.credentials import Credentials as BotoCredentials
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from iam.credentials import Credentials
from service.store.answers import Refused

Answer = dict[str, Any]


class Client(Protocol):
    """Everything that the store needs of DynamoDB."""

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        """The answer, or Refused with AWS's code."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Where DynamoDB is and how patient we are with it."""

    region: str | None = None
    endpoint_url: str | None = None
    connections: int = 32
    connect_timeout: float = 1.0
    read_timeout: float = 3.0


class BotoClient:
    """boto3's DynamoDB client, called in threads of its own: as many as there are pooled connections."""

    def __init__(self, wire: Wire) -> None:
        self._signing = _CallersCredentials()
        self._threads = ThreadPoolExecutor(wire.connections, thread_name_prefix="dynamodb")
        self._boto = _boto_client(wire, self._signing)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._send, operation, parameters, credentials
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._boto.close()

    def _send(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        self._signing.use(credentials)
        try:
            answer: Answer = getattr(self._boto, xform_name(operation))(**parameters)
        except ClientError as refusal:
            raise _refused(refusal) from refusal
        except BotoCoreError as failure:
            raise Refused("ConnectionLost", type(failure).__name__) from failure
        finally:
            self._signing.use(None)
        return answer


class _CallersCredentials(BotoCredentials):
    """Credentials that are, in each thread, those of the call under way there; outside a call there are none."""

    def __init__(self) -> None:
        super().__init__("per-call", "per-call")
        self._calls = threading.local()

    def use(self, credentials: Credentials | None) -> None:
        self._calls.credentials = credentials

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        current: Credentials | None = getattr(self._calls, "credentials", None)
        if current is None:
            raise NoCredentialsError
        return ReadOnlyCredentials(current.access_key, current.secret_key, current.token)


class _Provider(CredentialProvider):
    METHOD = "keyfence"

    def __init__(self, credentials: BotoCredentials) -> None:
        super().__init__()
        self._credentials = credentials

    def load(self) -> BotoCredentials:
        return self._credentials


def _boto_client(wire: Wire, signing: BotoCredentials) -> Any:
    session = botocore.session.Session()
    session.register_component("credential_provider", CredentialResolver([_Provider(signing)]))
    return boto3.Session(botocore_session=session).client(
        "dynamodb", region_name=wire.region, endpoint_url=wire.endpoint_url, config=_config(wire)
    )


def _config(wire: Wire) -> Config:
    return Config(
        max_pool_connections=wire.connections,
        connect_timeout=wire.connect_timeout,
        read_timeout=wire.read_timeout,
        retries={"total_max_attempts": 1},
        parameter_validation=False,
        tcp_keepalive=True,
    )


def _refused(refusal: ClientError) -> Refused:
    error = refusal.response.get("Error", {})
    reasons = tuple(reason.get("Code", "None") for reason in refusal.response.get("CancellationReasons", ()))
    return Refused(error.get("Code", "Unknown"), error.get("Message", ""), reasons)


def ambient_credentials() -> Credentials:
    """What boto3's own chain finds on this machine."""
    found = boto3.Session().get_credentials()
    frozen = found and found.get_frozen_credentials()
    if not frozen or not frozen.access_key or not frozen.secret_key:
        raise NoCredentialsError
    return Credentials(frozen.access_key, frozen.secret_key, frozen.token)


def ambient_region() -> str | None:
    """The region that boto3's own chain finds on this machine."""
    return boto3.Session().region_name
