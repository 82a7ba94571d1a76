"""What a command says of a migration that is under way."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.progress import Progress

from keyfence.cli.job_progress import doing, interrupted_message, place, progress_bar
from keyfence.jobs.job import JobKind, new_job
from keyfence_iam.tenant import TenantId

MOVE = new_job(JobKind.MOVE, TenantId("acme"), by="ann", at=datetime(2026, 11, 16, tzinfo=UTC))


def test_copying_is_measured_by_the_tenants_items_and_all_else_by_what_is_scanned() -> None:
    known = replace(MOVE, items_total=10, items_copied=4, items_scanned=900)
    assert place(replace(known, phase="COPYING-1")) == (4, 10)
    assert place(replace(known, phase="COPYING-2", items_copied=12)) == (10, 10)
    assert place(replace(known, phase="COMPARING-1")) == (900, None)
    assert place(replace(MOVE, phase="COPYING-1", items_scanned=5)) == (5, None)


def test_a_bar_forgets_the_total_that_another_pass_had(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[tuple[float, float | None]]()

    class Bar(Progress):
        """Notes what it showed last."""

        def stop(self) -> None:
            seen.append((self.tasks[0].completed, self.tasks[0].total))
            super().stop()

    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setattr("rich.progress.Progress", Bar)
    known = replace(MOVE, items_total=10, items_copied=4, items_scanned=900)
    with progress_bar() as tell:
        tell(replace(known, phase="COPYING-1"))
        tell(replace(known, phase="COMPARING-1"))
    assert seen == [(900, None)]


def test_what_is_said_names_the_migration_and_how_to_go_on() -> None:
    known = replace(MOVE, phase="COPYING-1", items_copied=1234)
    assert doing(known) == f"{MOVE.id}: copying-1, 1,234 changed"
    assert interrupted_message("Oh.", known) == f"Oh. 1,234 items are changed; keyfence migrate resume {MOVE.id}"
    assert interrupted_message("Oh.", None) == "Oh."
