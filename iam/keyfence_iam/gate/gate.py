"""A running gate."""

import errno
import socket
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import Clock, utc_now
from keyfence_iam.gate.app import GateApp
from keyfence_iam.gate.denials import DenialLog, Listener, ignore
from keyfence_iam.gate.engine.client import EngineClient
from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.faults import Fault
from keyfence_iam.gate.server import GateServer
from keyfence_iam.gate.state import GateState, SaveRolePolicies, discard
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

HOST = "127.0.0.1"
START_SECONDS = 15


class GateStartError(Exception):
    """A gate that cannot listen, or that did not start."""


class Gate:
    """A gate in a thread of this process; what it goes by may be replaced, and holds from the next call on."""

    def __init__(self, rules: GateState, server: GateServer, listener: socket.socket) -> None:
        self._rules, self._server, self._listener = rules, server, listener
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"

    @classmethod
    def start(
        cls,
        *,
        engine_url: str,
        account: Account,
        key: bytes,
        port: int = 0,
        strict: bool = False,
        faults: Iterable[Fault] = (),
        clock: Clock = utc_now,
        on_denied: Listener = ignore,
        keep: SaveRolePolicies = discard,
        limits: PartitionLimits | None = None,
        listener: socket.socket | None = None,
    ) -> Self:
        """On `listener`, a socket that listens already, or else on `port`, where 0 is any that is free."""
        sessions = SessionIssuer(account, key, clock=clock)
        rules = GateState(
            sessions=sessions,
            strict=strict,
            faults=FaultPlan(faults),
            denials=DenialLog(on_denied),
            keep=keep,
            limits=limits,
        )
        server = GateServer(GateApp(rules, EngineClient(engine_url)))
        gate = cls(rules, server, listener or _listening(port))
        gate._begin()
        return gate

    @property
    def sessions(self) -> SessionIssuer:
        return self._rules.sessions

    @property
    def account(self) -> Account:
        return self.sessions.account

    @account.setter
    def account(self, account: Account) -> None:
        self.sessions.replace_account(account)

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._rules.faults.faults

    @faults.setter
    def faults(self, faults: Iterable[Fault]) -> None:
        """Counted from the beginning."""
        self._rules.faults = FaultPlan(faults)

    @property
    def strict(self) -> bool:
        return self._rules.strict

    @strict.setter
    def strict(self, strict: bool) -> None:
        self._rules.strict = strict

    @property
    def limits(self) -> PartitionLimits | None:
        return self._rules.limits

    @limits.setter
    def limits(self, limits: PartitionLimits | None) -> None:
        """With every bucket full, or without any."""
        self._rules.limits = limits

    @property
    def denials(self) -> DenialLog:
        return self._rules.denials

    def wait(self) -> None:
        """Until it is stopped."""
        self._thread.join()

    def stop(self) -> None:
        """Calls that are under way are answered first."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _begin(self) -> None:
        self._thread.start()
        if not self._server.ready.wait(START_SECONDS):
            self.stop()
            raise GateStartError("the gate did not start")

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise GateStartError(f"port {port} on {HOST} is already in use" if taken else str(error)) from error
