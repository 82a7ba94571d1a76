"""`Session`: an issued session with its role's current policies. `SessionIssuer`: issues and finds sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from keyfence_iam import arns
from keyfence_iam.credentials import Credentials
from keyfence_iam.evaluator.evaluation_logic import Policies
from keyfence_iam.evaluator.request import ContextValue, Principal
from keyfence_iam.gate.account.account import Account, Role
from keyfence_iam.gate.account.session_token import (
    Clock,
    InvalidSessionToken,
    SessionClaims,
    TokenCipher,
    derive_key,
    is_access_key,
    iso_seconds,
    new_access_key,
    secret_for,
    utc_now,
)
from keyfence_iam.policy import Policy, parse_policy_text

MAX_CACHED_SESSIONS = 4096


@dataclass(frozen=True, kw_only=True)
class Session:
    """The claims of a session token, with the role and the session policies as they are now."""

    access_key: str
    claims: SessionClaims
    role: Role
    policies: tuple[Policy, ...] | None = None
    """The session policies; None if AssumeRole was called without any."""

    @property
    def name(self) -> str:
        return self.claims.session_name

    @property
    def expires_at(self) -> datetime:
        return self.claims.expires_at

    @cached_property
    def arn(self) -> str:
        partition, account = arns.partition_and_account(self.role.arn)
        return arns.session_arn(self.role.name, self.name, account=account, partition=partition)

    @property
    def user_id(self) -> str:
        return f"{self.role.id}:{self.name}"

    @property
    def account(self) -> str:
        return arns.partition_and_account(self.role.arn)[1]

    @cached_property
    def principal(self) -> Principal:
        return Principal(account=self.account, role_arn=self.role.arn, session_arn=self.arn)

    @cached_property
    def tags(self) -> Mapping[str, str]:
        """The tags of role and session. A session tag replaces a role tag with the same key in any case."""
        session_keys = {key.lower() for key in self.claims.tags}
        role_tags = {key: value for key, value in self.role.tags.items() if key.lower() not in session_keys}
        return {**role_tags, **self.claims.tags}

    def expired(self, now: datetime) -> bool:
        return now >= self.claims.expires_at

    def policies_for(self, resource_policies: tuple[Policy, ...] = ()) -> Policies:
        """Returns the policies that decide on calls of this session to a resource with these resource policies."""
        return replace(self._own_policies, resource=resource_policies) if resource_policies else self._own_policies

    def context(self, now: datetime, *, source_ip: str, secure_transport: bool, region: str) -> dict[str, ContextValue]:
        """Returns the global condition keys (`aws:...`) of the session and of this request."""
        return {
            **self._principal_context,
            "aws:CurrentTime": iso_seconds(now),
            "aws:EpochTime": str(int(now.timestamp())),
            "aws:SourceIp": source_ip,
            "aws:SecureTransport": "true" if secure_transport else "false",
            "aws:RequestedRegion": region,
        }

    @cached_property
    def _own_policies(self) -> Policies:
        return Policies(identity=self.role.identity, boundary=self.role.boundary, session=self.policies)

    @cached_property
    def _principal_context(self) -> Mapping[str, ContextValue]:
        source_identity = self.claims.source_identity
        return {
            **{f"aws:PrincipalTag/{key}": value for key, value in self.tags.items()},
            "aws:PrincipalArn": self.role.arn,
            "aws:PrincipalAccount": self.account,
            "aws:PrincipalType": "AssumedRole",
            "aws:userid": self.user_id,
            "aws:TokenIssueTime": iso_seconds(self.claims.issued_at),
            **({"aws:SourceIdentity": source_identity} if source_identity else {}),
        }


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A new session and its credentials."""

    session: Session
    credentials: Credentials


class SessionIssuer:
    """Issues sessions and reads them back from their tokens.

    It stores no session: every issuer with the same gate key and the same account accepts the same tokens.
    """

    def __init__(self, account: Account, gate_key: bytes, *, clock: Clock = utc_now) -> None:
        self.clock = clock
        self._cipher = TokenCipher(gate_key)
        self._secret = derive_key(gate_key, "secret access keys")
        self.replace_account(account)

    @property
    def account(self) -> Account:
        return self._account

    def replace_account(self, account: Account) -> None:
        """Uses these roles and policies from now on, also for sessions that already exist."""
        self._account = account
        self._cached_session = lru_cache(MAX_CACHED_SESSIONS)(self._decrypt)

    def issue_service_session(self, role: str, *, name: str = "local", seconds: int | None = None) -> IssuedSession:
        """Issues the session that a compute service gives to a process that runs as this role."""
        found, now = self._account.role(role), self.clock().replace(microsecond=0)
        lifetime = timedelta(seconds=seconds or found.max_session_seconds)
        return self.issue(
            SessionClaims(
                role=found.name, role_id=found.id, session_name=name, issued_at=now, expires_at=now + lifetime
            )
        )

    def issue(self, claims: SessionClaims, *, minimum_size: int = 0) -> IssuedSession:
        """Issues a session with a token of at least `minimum_size` bytes. Raises TokenTooLarge."""
        access_key = new_access_key()
        token = self._cipher.encrypt(claims, access_key, minimum_size)
        credentials = Credentials(access_key, self.secret_of(access_key), token)
        return IssuedSession(self.get(access_key, token), credentials)

    def get(self, access_key: str, token: str) -> Session:
        """Returns the session, also an expired one. Raises InvalidSessionToken if the token or its role is unknown."""
        return self._cached_session(access_key, token)

    def secret_of(self, access_key: str) -> str:
        return secret_for(self._secret, access_key)

    def _decrypt(self, access_key: str, token: str) -> Session:
        if not is_access_key(access_key):
            raise InvalidSessionToken("the access key is not one of a session")
        claims = self._cipher.decrypt(token, access_key)
        role = self._account.roles.get(claims.role)
        if role is None or role.id != claims.role_id:
            raise InvalidSessionToken("the role of the session no longer exists")
        return Session(access_key=access_key, claims=claims, role=role, policies=self._session_policies(claims))

    def _session_policies(self, claims: SessionClaims) -> tuple[Policy, ...] | None:
        """Returns None if no session policy was passed. A managed policy that no longer exists allows nothing."""
        if claims.policy is None and not claims.policy_arns:
            return None
        inline = () if claims.policy is None else (parse_policy_text(claims.policy, path="session policy"),)
        managed = self._account.managed_policies
        return (*inline, *(managed[arn] for arn in claims.policy_arns if arn in managed))
