"""Commands that run jobs wait for the settle time of the settings, which no option shortens."""

from collections.abc import Mapping

import pytest
import typer

from keyfence.cli import app
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import RecordedSleep
from tests.system.commands.command_runner import run_json
from tests.system.jobs.test_settle_time import each_settings

pytestmark = [pytest.mark.usefixtures("terminal"), pytest.mark.one_engine]


@each_settings
def test_reshard_move_and_offboard_wait_for_the_settle_time(
    changes: Mapping[str, float], tenant: TenantId, job_sleep: RecordedSleep, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changes.items():
        monkeypatch.setenv(f"KEYFENCE_{name.upper()}", f"{value}")
    settle_seconds, slept = sum(changes.values()), []
    for command in (
        ("reshard", tenant, "users", "2"),
        ("move", tenant, "silo"),
        ("tenant", "offboard", tenant, "--confirm", tenant),
    ):
        run_json(*command)
        slept.append(job_sleep.seconds)
        job_sleep.seconds = 0.0
    assert slept == [settle_seconds, 4 * settle_seconds, settle_seconds]


def test_no_command_has_an_option_for_the_wait() -> None:
    options = [option for command in _commands(typer.main.get_command(app)) for option in command]
    assert "--rate" in options
    assert not [option for option in options if "settle" in option or "wait" in option]


def _commands(command: object) -> list[list[str]]:
    """Returns the options of a command and of all its subcommands."""
    options = [option for parameter in getattr(command, "params", []) for option in parameter.opts]
    subcommands = getattr(command, "commands", {}).values()
    return [options, *(found for subcommand in subcommands for found in _commands(subcommand))]
