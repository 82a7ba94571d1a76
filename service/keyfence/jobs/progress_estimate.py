"""How much of a job's current phase is done, and about how long the rest takes."""

from dataclasses import dataclass

from keyfence.jobs.job_record import FINISHED, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """The estimated progress of a phase. A number is None if it cannot be estimated."""

    percent: float | None = None
    seconds_left: float | None = None


def progress_of(job: Job) -> PhaseProgress:
    """Estimates the progress at the time when the record was last saved."""
    if job.phase == FINISHED:
        return PhaseProgress(percent=100.0, seconds_left=0.0)
    if job.phase_started_at is None:
        return PhaseProgress()
    elapsed_seconds = (job.updated_at - job.phase_started_at).total_seconds()
    if job.phase_ends_at is not None:
        wait_seconds = (job.phase_ends_at - job.phase_started_at).total_seconds()
        return _progress(elapsed_seconds, wait_seconds, seconds_left=wait_seconds - elapsed_seconds)
    if job.items_expected is None:
        return PhaseProgress()
    scanned, expected = job.items_scanned, max(job.items_scanned, job.items_expected)
    seconds_left = elapsed_seconds * (expected - scanned) / scanned if scanned else None
    return _progress(scanned, expected, seconds_left=seconds_left)


def _progress(done: float, total: float, *, seconds_left: float | None) -> PhaseProgress:
    percent = min(100.0, 100.0 * done / total) if total > 0 else 100.0
    return PhaseProgress(percent=round(percent, 1), seconds_left=None if seconds_left is None else max(0, seconds_left))
