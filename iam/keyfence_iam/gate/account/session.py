"""`Session`: a session with the current policies of its role. `SessionIssuer`: issues sessions and reads tokens."""

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
    secret_key_for,
    utc_now,
)
from keyfence_iam.policy import Policy, parse_policy_text

MAX_CACHED_SESSIONS = 4096
"""The number of decrypted sessions that are kept in memory. Other sessions are decrypted again."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session: the claims of its token, and the role and the session policies with their current content."""

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
        """The tags of the role and of the session.

        A session tag replaces a role tag with the same key. Upper and lower case are not distinguished.
        """
        session_keys = {key.lower() for key in self.claims.tags}
        role_tags = {key: value for key, value in self.role.tags.items() if key.lower() not in session_keys}
        return {**role_tags, **self.claims.tags}

    def is_expired(self, now: datetime) -> bool:
        return now >= self.claims.expires_at

    def policies_for(self, resource_policies: tuple[Policy, ...] = ()) -> Policies:
        """Returns the policies that decide on a call of this session to a resource with these resource policies."""
        policies = self._policies_without_resource
        return replace(policies, resource=resource_policies) if resource_policies else policies

    def context(self, now: datetime, *, source_ip: str, uses_tls: bool, region: str) -> dict[str, ContextValue]:
        """Returns the values of the global condition keys (`aws:...`) for a request of this session."""
        return {
            **self._principal_context,
            "aws:CurrentTime": iso_seconds(now),
            "aws:EpochTime": str(int(now.timestamp())),
            "aws:SourceIp": source_ip,
            "aws:SecureTransport": "true" if uses_tls else "false",
            "aws:RequestedRegion": region,
        }

    @cached_property
    def _policies_without_resource(self) -> Policies:
        return Policies(identity=self.role.identity_policies, boundary=self.role.boundary, session=self.policies)

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
    """Issues sessions, and reads them from their tokens.

    Sessions are not stored: every issuer with the same gate key and the same account accepts the same tokens.
    """

    def __init__(self, account: Account, gate_key: bytes, *, clock: Clock = utc_now) -> None:
        self.clock = clock
        self._cipher = TokenCipher(gate_key)
        self._secret_derivation_key = derive_key(gate_key, "secret access keys")
        self.replace_account(account)

    @property
    def account(self) -> Account:
        return self._account

    def replace_account(self, account: Account) -> None:
        """Replaces the roles and policies, also for sessions that already exist."""
        self._account = account
        self._get_cached = lru_cache(MAX_CACHED_SESSIONS)(self._decrypt)

    def issue_service_session(self, role: str, *, name: str = "local", seconds: int | None = None) -> IssuedSession:
        """Issues a session of this role without an AssumeRole call, as a compute service does for its processes.

        Raises NoSuchRole if the account has no such role.
        """
        issued_at = self.clock().replace(microsecond=0)
        account_role = self._account.get_role(role)
        lifetime = timedelta(seconds=seconds or account_role.max_session_seconds)
        return self.issue(
            SessionClaims(
                role=account_role.name,
                role_id=account_role.id,
                session_name=name,
                issued_at=issued_at,
                expires_at=issued_at + lifetime,
            )
        )

    def issue(self, claims: SessionClaims, *, minimum_size: int = 0) -> IssuedSession:
        """Issues a session whose token has at least `minimum_size` characters.

        Raises TokenTooLarge if the claims do not fit into a token.
        """
        access_key = new_access_key()
        token = self._cipher.encrypt(claims, access_key, minimum_size)
        credentials = Credentials(access_key, self.secret_key_of(access_key), token)
        return IssuedSession(self.get(access_key, token), credentials)

    def get(self, access_key: str, token: str) -> Session:
        """Returns the session of a token, even if it is expired.

        Raises InvalidSessionToken if the token was not issued for this access key, or if its role no longer exists.
        """
        return self._get_cached(access_key, token)

    def secret_key_of(self, access_key: str) -> str:
        return secret_key_for(self._secret_derivation_key, access_key)

    def _decrypt(self, access_key: str, token: str) -> Session:
        if not is_access_key(access_key):
            raise InvalidSessionToken("the access key does not have the form of a session's access key")
        claims = self._cipher.decrypt(token, access_key)
        role = self._account.roles.get(claims.role)
        if role is None or role.id != claims.role_id:
            raise InvalidSessionToken("the role of the session no longer exists")
        return Session(access_key=access_key, claims=claims, role=role, policies=self._session_policies(claims))

    def _session_policies(self, claims: SessionClaims) -> tuple[Policy, ...] | None:
        """Returns the session policies, or None if AssumeRole was called without any.

        A managed policy that no longer exists is left out, so it allows nothing.
        """
        if claims.policy is None and not claims.policy_arns:
            return None
        inline = () if claims.policy is None else (parse_policy_text(claims.policy, path="session policy"),)
        policies_by_arn = self._account.managed_policies
        return (*inline, *(policies_by_arn[arn] for arn in claims.policy_arns if arn in policies_by_arn))
