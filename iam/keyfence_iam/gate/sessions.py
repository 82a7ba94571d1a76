"""The sessions of an account: begun with new credentials, and found again by those."""

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from keyfence_iam.credentials import Credentials
from keyfence_iam.document import Policy, parse_text
from keyfence_iam.gate.access_key import derived, is_access_key, new_access_key, secret_key
from keyfence_iam.gate.account import Account
from keyfence_iam.gate.clock import Clock, utc_now
from keyfence_iam.gate.session import Session
from keyfence_iam.gate.token import BadToken, Grant, Seal

REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Issued:
    """A new session and the credentials that make somebody it."""

    session: Session
    credentials: Credentials


class Sessions:
    """Keeps no session: whoever has the same key and the same account finds the same ones."""

    def __init__(self, account: Account, gate_key: bytes, *, clock: Clock = utc_now) -> None:
        self.clock = clock
        self._seal = Seal(gate_key)
        self._secret = derived(gate_key, "secret access keys")
        self.govern(account)

    @property
    def account(self) -> Account:
        return self._account

    def govern(self, account: Account) -> None:
        """From now on these are the roles and policies, also for the sessions that live."""
        self._account = account
        self._remembered = lru_cache(REMEMBERED)(self._opened)

    def mint(self, role: str, *, name: str = "local", seconds: int | None = None) -> Issued:
        """A session as a compute service hands it to the process that runs as this role."""
        definition, now = self._account.role(role), self.clock().replace(microsecond=0)
        lifetime = timedelta(seconds=seconds or definition.max_session_seconds)
        return self.begin(
            Grant(role=definition.name, role_id=definition.id, name=name, issued_at=now, expires_at=now + lifetime)
        )

    def begin(self, grant: Grant, *, smallest_token: int = 0) -> Issued:
        access_key = new_access_key()
        token = self._seal.sealed(grant, access_key, smallest_token)
        credentials = Credentials(access_key, self.secret_of(access_key), token)
        return Issued(self.find(access_key, token), credentials)

    def find(self, access_key: str, token: str) -> Session:
        """Raises BadToken where there is no such session or its role is gone; an expired one is found."""
        return self._remembered(access_key, token)

    def secret_of(self, access_key: str) -> str:
        return secret_key(self._secret, access_key)

    def _opened(self, access_key: str, token: str) -> Session:
        if not is_access_key(access_key):
            raise BadToken("the access key is not one of a session")
        grant = self._seal.opened(token, access_key)
        role = self._account.roles.get(grant.role)
        if role is None or role.id != grant.role_id:
            raise BadToken("the role of the session is gone")
        return Session(access_key=access_key, grant=grant, role=role, policies=self._policies(grant))

    def _policies(self, grant: Grant) -> tuple[Policy, ...] | None:
        """None where none was passed. One that was passed and is gone allows nothing: it still restricts."""
        if grant.policy is None and not grant.policy_arns:
            return None
        inline = () if grant.policy is None else (parse_text(grant.policy, where="session policy"),)
        managed = self._account.managed_policies
        return (*inline, *(managed[arn] for arn in grant.policy_arns if arn in managed))
