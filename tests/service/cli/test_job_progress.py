"""The progress that commands show of a running job, on a terminal and elsewhere."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.progress import Progress

from keyfence.cli.job_progress import (
    SECONDS_BETWEEN_LINES,
    PlainProgress,
    duration_text,
    interrupted_message,
    progress_display,
    progress_text,
)
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.progress_estimate import PhaseProgress, progress_of
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MOVE = new_job(JobKind.MOVE, TenantId("acme"), created_by="ann", created_at=NOW)


def copying(scanned: int, expected: int | None, seconds: float = 10.0) -> Job:
    updated_at = NOW + timedelta(seconds=seconds)
    return replace(
        MOVE, phase="COPYING-1", items_scanned=scanned, items_expected=expected, items_changed=4, updated_at=updated_at
    )


@pytest.mark.parametrize(
    ("job", "percent", "seconds_left"),
    [
        (copying(25, 100), 25.0, 30.0),
        (copying(0, 100), 0.0, None),
        (copying(250, 100), 100.0, 0.0),
        (copying(25, None), None, None),
        (copying(0, 0), 100.0, None),
        (replace(MOVE, phase="FINISHED"), 100.0, 0.0),
        (replace(copying(0, None, 5), phase_ends_at=NOW + timedelta(seconds=20)), 25.0, 15.0),
        (replace(copying(0, None, 25), phase_ends_at=NOW + timedelta(seconds=20)), 100.0, 0),
        (replace(copying(5, 9), phase_started_at=None), None, None),
    ],
)
def test_progress_is_estimated_from_items_or_from_the_end_of_a_wait(
    job: Job, percent: float | None, seconds_left: float | None
) -> None:
    assert progress_of(job) == PhaseProgress(percent=percent, seconds_left=seconds_left)


def test_the_text_names_the_job_its_phase_and_says_about_for_estimates() -> None:
    assert progress_text(copying(25, 100)) == f"{MOVE.id}: copying-1, about 25 %, about 30 s left, 4 items changed"
    assert progress_text(copying(25, None)) == f"{MOVE.id}: copying-1, 4 items changed"
    finished = replace(MOVE, phase="FINISHED", finished_at=NOW, items_changed=1234)
    assert progress_text(finished) == f"{MOVE.id}: finished, 1,234 items changed"


def test_an_offboarding_says_how_much_is_exported_and_purged() -> None:
    job = new_job(JobKind.OFFBOARD, TenantId("acme"), created_by="ann", created_at=NOW, phase="VERIFYING_EXPORT")
    job = replace(job, counts={"exported": 80, "purged": 3})
    assert progress_text(job) == f"{job.id}: verifying export, 80 items exported, 3 purged"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7_300, "2 h 1 min")])
def test_a_duration_is_printed_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_without_a_terminal_a_line_is_printed_for_each_phase_and_every_few_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 100.0
    progress = PlainProgress(clock=lambda: now)
    for job in (MOVE, copying(10, 100), copying(20, 100)):
        progress.show(job)
    now += SECONDS_BETWEEN_LINES
    progress.show(copying(30, 100))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].split(", ")[:2] for line in lines] == [
        ["started", "0 items changed"],
        ["copying-1", "about 10 %"],
        ["copying-1", "about 30 %"],
    ]


def test_a_bar_without_an_estimate_does_not_keep_the_percentage_of_the_last_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    final_states = list[tuple[float, float | None]]()

    class Bar(Progress):
        """Saves its last state when it stops."""

        def stop(self) -> None:
            final_states.append((self.tasks[0].completed, self.tasks[0].total))
            super().stop()

    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setattr("rich.progress.Progress", Bar)
    for jobs, shown in (([copying(25, 100)], (25, 100)), ([copying(25, 100), copying(25, None)], (0, None))):
        with progress_display() as show:
            for job in jobs:
                show(job)
        assert final_states.pop() == shown


def test_the_message_of_an_interruption_has_the_changes_and_the_command_to_resume() -> None:
    job = replace(MOVE, phase="COPYING-1", items_changed=1234)
    resume = f"To resume: keyfence job resume {MOVE.id}"
    assert interrupted_message("Oh.", job) == f"Oh. 1,234 items changed. {resume}"
    assert interrupted_message("Oh.", None) == "Oh."
