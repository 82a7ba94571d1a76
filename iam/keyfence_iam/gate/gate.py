"""`Gate`: starts and stops a gate in a thread of this process."""

import errno
import socket
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import Clock, new_gate_key, utc_now
from keyfence_iam.gate.app import GateApp
from keyfence_iam.gate.denials import DenialLog, OnDenied, ignore_denial
from keyfence_iam.gate.engine.engine_client import EngineClient
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.gate.fault_injection import FaultPlan
from keyfence_iam.gate.server import GateServer
from keyfence_iam.gate.settings import GateSettings, IndexKeyPrefixOf, SaveRolePolicies, do_not_save
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

HOST = "127.0.0.1"
"""The gate can only be reached from this machine."""
MAX_START_SECONDS = 15
"""How long `Gate.start` waits until the server accepts connections. A start usually takes less than a second."""


class GateStartError(Exception):
    """The gate cannot listen on its port, or did not start in time."""


class Gate:
    """A running gate. `account`, `faults`, `limits` and `index_key_prefix_of` can be replaced while it runs.

    The next call uses the new values.
    """

    def __init__(self, settings: GateSettings, server: GateServer, listener: socket.socket) -> None:
        self._settings, self._server, self._listener = settings, server, listener
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"

    @classmethod
    def start(
        cls,
        *,
        engine_url: str,
        account: Account,
        key: bytes | None = None,
        port: int = 0,
        index_key_prefix_of: IndexKeyPrefixOf | None = None,
        faults: Iterable[Fault] = (),
        clock: Clock = utc_now,
        on_denied: OnDenied = ignore_denial,
        save_role_policies: SaveRolePolicies = do_not_save,
        limits: PartitionLimits | None = None,
        traffic_role: str | None = None,
        listener: socket.socket | None = None,
    ) -> Self:
        """Starts a gate on `listener`, a socket that already listens, or else on `port`. Port 0 means any free port.

        The secret keys of sessions are derived from `key`, and session tokens are encrypted with it. Without a key, the
        gate creates a random key, and all credentials become invalid when the gate stops. Raises GateStartError if the
        port is in use or the server does not start in time.
        """
        settings = GateSettings(
            session_issuer=SessionIssuer(account, key or new_gate_key(), clock=clock),
            index_key_prefix_of=index_key_prefix_of,
            faults=FaultPlan(faults),
            denials=DenialLog(on_denied),
            save_role_policies=save_role_policies,
            limits=limits,
            traffic_role=traffic_role,
        )
        server = GateServer(GateApp(settings, EngineClient(engine_url)))
        gate = cls(settings, server, listener or _listen(port))
        gate._start()
        return gate

    @property
    def session_issuer(self) -> SessionIssuer:
        return self._settings.session_issuer

    @property
    def account(self) -> Account:
        return self.session_issuer.account

    @account.setter
    def account(self, account: Account) -> None:
        self.session_issuer.replace_account(account)

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._settings.faults.faults

    @faults.setter
    def faults(self, faults: Iterable[Fault]) -> None:
        """Replaces the faults. The new faults count calls from zero."""
        self._settings.faults = FaultPlan(faults)

    @property
    def index_key_prefix_of(self) -> IndexKeyPrefixOf | None:
        return self._settings.index_key_prefix_of

    @index_key_prefix_of.setter
    def index_key_prefix_of(self, index_key_prefix_of: IndexKeyPrefixOf | None) -> None:
        self._settings.index_key_prefix_of = index_key_prefix_of

    @property
    def limits(self) -> PartitionLimits | None:
        return self._settings.limits

    @limits.setter
    def limits(self, limits: PartitionLimits | None) -> None:
        self._settings.limits = limits

    @property
    def denials(self) -> DenialLog:
        return self._settings.denials

    def wait(self) -> None:
        """Blocks until the gate is stopped."""
        self._thread.join()

    def stop(self) -> None:
        """Stops the server. It waits at most `server.SHUTDOWN_SECONDS` for the calls in progress."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        self._thread.start()
        if not self._server.ready.wait(MAX_START_SECONDS):
            self.stop()
            raise GateStartError(f"the gate did not start within {MAX_START_SECONDS} seconds")

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise GateStartError(f"port {port} on {HOST} is already in use; choose another port") from error
        raise GateStartError(f"the gate cannot listen on port {port} of {HOST}: {error}") from error
