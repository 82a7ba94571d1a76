"""STS itself: AssumeRole with the tenant as session tag, on the credentials of the service's own role."""

import os
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError, NoCredentialsError

from keyfence_iam.credentials import Credentials
from keyfence_iam.policies.tag import TENANT_TAG
from keyfence_iam.vending.narrowing import narrowing
from keyfence_iam.vending.refusal import CutOff, NoSession, OverBudget
from keyfence_iam.vending.vending import THREADS
from keyfence_iam.vending.wanted import Wanted

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

LONGEST_NAME = 64
THROTTLED_SECONDS = 1.0
_THROTTLES = {"Throttling", "ThrottlingException", "RequestLimitExceeded"}


@dataclass(frozen=True, slots=True)
class Sts:
    """Sessions of the roles whose ARNs begin with `roles`, narrowed as is wanted."""

    boto: "STSClient"
    roles: str
    table: str
    name: str

    @classmethod
    def connect(
        cls,
        session: boto3.Session,
        roles: str,
        table: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        read_timeout: float = 2.0,
    ) -> "Sts":
        """The regional endpoint unless another is given; short timeouts, since callers wait."""
        config = Config(
            connect_timeout=1,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=THREADS,
            tcp_keepalive=True,
        )
        plain = (endpoint_url or "").startswith("http:")
        boto = session.client(
            "sts",
            region_name=region,
            endpoint_url=endpoint_url,
            config=config.merge(Config(proxies={})) if plain else config,
        )
        return cls(boto, roles, table, session_name())

    def __call__(self, wanted: Wanted, seconds: int) -> Credentials:
        try:
            answer = self.boto.assume_role(**self._asked(wanted, seconds))["Credentials"]
        except ClientError as refusal:
            raise _refused(refusal) from refusal
        except ConnectionClosedError as closed:
            raise CutOff(f"STS cannot be reached: {closed}") from closed
        except BotoCoreError as failure:
            raise NoSession(f"STS cannot be reached: {failure}") from failure
        return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])

    def _asked(self, wanted: Wanted, seconds: int) -> Any:
        tags = [{"Key": TENANT_TAG, "Value": wanted.tenant}] if wanted.tenant is not None else []
        narrowed = narrowing(self.roles, self.table)[wanted.profile]
        return {
            "RoleArn": f"{self.roles}{wanted.role}",
            "RoleSessionName": self.name,
            "DurationSeconds": seconds,
            **({"Tags": tags} if tags else {}),
            **({"Policy": narrowed} if narrowed else {}),
        }


def ambient() -> boto3.Session:
    """The credentials that boto3's own chain finds on this machine, refreshed by it when they expire."""
    session = botocore.session.Session()
    session.set_config_variable("sts_regional_endpoints", "regional")
    if session.get_credentials() is None:
        raise NoCredentialsError
    return boto3.Session(botocore_session=session)


def session_name() -> str:
    """Where the session was asked for, as audit logs show it."""
    end = f"-{os.getpid()}"
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())
    return f"keyfence-{host}"[: LONGEST_NAME - len(end)] + end


def _refused(refusal: ClientError) -> NoSession:
    code = refusal.response["Error"]["Code"]
    if code in _THROTTLES:
        return OverBudget("STS has too many callers just now", THROTTLED_SECONDS)
    return NoSession(f"STS refuses: {refusal}")
