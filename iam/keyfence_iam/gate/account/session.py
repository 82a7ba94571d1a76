"""`Session`, `SessionIssuer`; may this session do that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from keyfence_iam.credentials import Credentials
from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluate import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue, Principal
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


@dataclass(frozen=True, kw_only=True)
class Session:
    """A grant, with the role and the policies that it names as they are now."""

    access_key: str
    grant: SessionClaims
    role: Role
    policies: tuple[Policy, ...] | None = None

    @property
    def name(self) -> str:
        return self.grant.name

    @property
    def expires_at(self) -> datetime:
        return self.grant.expires_at

    @cached_property
    def arn(self) -> str:
        _, partition, _, _, account, _ = self.role.arn.split(":", 5)
        return f"arn:{partition}:sts::{account}:assumed-role/{self.role.name}/{self.name}"

    @property
    def user_id(self) -> str:
        return f"{self.role.id}:{self.name}"

    @property
    def account(self) -> str:
        return self.role.arn.split(":")[4]

    @cached_property
    def principal(self) -> Principal:
        return Principal(account=self.account, role_arn=self.role.arn, session_arn=self.arn)

    @cached_property
    def tags(self) -> Mapping[str, str]:
        """The role's tags under the session's: keys differ only by more than their case, and the session's win."""
        given = {key.lower() for key in self.grant.tags}
        inherited = {key: value for key, value in self.role.tags.items() if key.lower() not in given}
        return {**inherited, **self.grant.tags}

    def expired(self, now: datetime) -> bool:
        return now >= self.grant.expires_at

    def policies_for(self, resource_policies: tuple[Policy, ...] = ()) -> Policies:
        """The policies that decide what this session does to a resource with these policies."""
        return replace(self._own, resource=resource_policies) if resource_policies else self._own

    def context(self, now: datetime, *, source_ip: str, secure_transport: bool, region: str) -> dict[str, ContextValue]:
        """What policies may ask about the one who calls, and about the call as such."""
        return {
            **self._standing,
            "aws:CurrentTime": iso_seconds(now),
            "aws:EpochTime": str(int(now.timestamp())),
            "aws:SourceIp": source_ip,
            "aws:SecureTransport": "true" if secure_transport else "false",
            "aws:RequestedRegion": region,
        }

    @cached_property
    def _own(self) -> Policies:
        return Policies(identity=self.role.identity, boundary=self.role.boundary, session=self.policies)

    @cached_property
    def _standing(self) -> Mapping[str, ContextValue]:
        source = {"aws:SourceIdentity": self.grant.source_identity} if self.grant.source_identity else {}
        return {
            **{f"aws:PrincipalTag/{key}": value for key, value in self.tags.items()},
            "aws:PrincipalArn": self.role.arn,
            "aws:PrincipalAccount": self.account,
            "aws:PrincipalType": "AssumedRole",
            "aws:userid": self.user_id,
            "aws:TokenIssueTime": iso_seconds(self.grant.issued_at),
            **source,
        }


def first_denied(
    questions: tuple[AuthorizationRequest, ...], known: Mapping[str, ContextValue], session: Session, account: Account
) -> tuple[AuthorizationRequest, Denied] | None:
    """Every question must be answered with yes; the first no, with its question, is the whole call's."""
    for asked in _distinct(questions):
        policies = session.policies_for(account.resource_policies.get(asked.resource, ()))
        whole = AuthorizationRequest(asked.action, asked.resource, {**known, **asked.context})
        decision = evaluate(policies, whole, session.principal)
        if isinstance(decision, Denied):
            return asked, decision
    return None


def _distinct(questions: tuple[AuthorizationRequest, ...]) -> Iterable[AuthorizationRequest]:
    """In their order, each but once: within one call the same question has the same answer."""
    if len(questions) == 1:
        return questions
    return {(one.action, one.resource, *one.context.items()): one for one in questions}.values()


REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A new session and the credentials that make somebody it."""

    session: Session
    credentials: Credentials


class SessionIssuer:
    """Keeps no session: whoever has the same key and the same account finds the same ones."""

    def __init__(self, account: Account, gate_key: bytes, *, clock: Clock = utc_now) -> None:
        self.clock = clock
        self._seal = TokenCipher(gate_key)
        self._secret = derive_key(gate_key, "secret access keys")
        self.replace_account(account)

    @property
    def account(self) -> Account:
        return self._account

    def replace_account(self, account: Account) -> None:
        """From now on these are the roles and policies, also for the sessions that live."""
        self._account = account
        self._remembered = lru_cache(REMEMBERED)(self._opened)

    def issue_service_session(self, role: str, *, name: str = "local", seconds: int | None = None) -> IssuedSession:
        """A session as a compute service hands it to the process that runs as this role."""
        definition, now = self._account.role(role), self.clock().replace(microsecond=0)
        lifetime = timedelta(seconds=seconds or definition.max_session_seconds)
        return self.begin(
            SessionClaims(
                role=definition.name, role_id=definition.id, name=name, issued_at=now, expires_at=now + lifetime
            )
        )

    def begin(self, grant: SessionClaims, *, smallest_token: int = 0) -> IssuedSession:
        access_key = new_access_key()
        token = self._seal.sealed(grant, access_key, smallest_token)
        credentials = Credentials(access_key, self.secret_of(access_key), token)
        return IssuedSession(self.find(access_key, token), credentials)

    def find(self, access_key: str, token: str) -> Session:
        """Raises BadToken where there is no such session or its role is gone; an expired one is found."""
        return self._remembered(access_key, token)

    def secret_of(self, access_key: str) -> str:
        return secret_for(self._secret, access_key)

    def _opened(self, access_key: str, token: str) -> Session:
        if not is_access_key(access_key):
            raise InvalidSessionToken("the access key is not one of a session")
        grant = self._seal.opened(token, access_key)
        role = self._account.roles.get(grant.role)
        if role is None or role.id != grant.role_id:
            raise InvalidSessionToken("the role of the session is gone")
        return Session(access_key=access_key, grant=grant, role=role, policies=self._policies(grant))

    def _policies(self, grant: SessionClaims) -> tuple[Policy, ...] | None:
        """None where none was passed. One that was passed and is gone allows nothing: it still restricts."""
        if grant.policy is None and not grant.policy_arns:
            return None
        inline = () if grant.policy is None else (parse_policy_text(grant.policy, path="session policy"),)
        managed = self._account.managed_policies
        return (*inline, *(managed[arn] for arn in grant.policy_arns if arn in managed))
