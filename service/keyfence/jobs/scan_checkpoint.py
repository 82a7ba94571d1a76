"""`ScanCheckpoint`: the saved progress of one segment of a scan. `PassResult`: the numbers that it contains."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from keyfence.jobs.job_record import Job, JobId
from keyfence.jobs.job_repository import TAKEN_OVER, JobRepository
from keyfence.store.codec import Item
from keyfence.store.entity import entity
from keyfence.store.expressions import absent
from keyfence.store.keys import ControlKey
from keyfence.store.scan import ScanPage
from keyfence.store.writes import Write, put, update_model

_DIGEST_MODULUS = 2**128


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """Numbers of a page, of a segment or of a whole pass. Results can be added in any order."""

    scanned: int = 0
    """The number of items that were read. A `process` function leaves it 0, because the pass itself counts them."""
    changed: int = 0
    wrong: int = 0
    """The number of items that a verifying pass found to be wrong."""
    digest: int = 0
    """Sum of the digests of the items that were changed or compared."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Other numbers to report, by their name."""
    units: float = 0.0
    """Capacity units that the calls consumed."""

    def __add__(self, other: "PassResult") -> "PassResult":
        return PassResult(
            scanned=self.scanned + other.scanned,
            changed=self.changed + other.changed,
            wrong=self.wrong + other.wrong,
            digest=(self.digest + other.digest) % _DIGEST_MODULUS,
            counts=Counter(self.counts) + Counter(other.counts),
            units=self.units + other.units,
        )

    @property
    def reported_counts(self) -> Mapping[str, int]:
        return {**self.counts, **({"wrong": self.wrong} if self.wrong else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCheckpoint:
    """How far one segment of a pass has been processed, and the numbers of its result."""

    job_id: JobId
    pass_name: str
    segment: int
    """The number of this segment, from 0 on."""
    segment_count: int
    resume_key: str | None = None
    """The LastEvaluatedKey of the last processed page, as JSON."""
    scanned: int = 0
    changed: int = 0
    wrong: int = 0
    digest: str = ""
    """The digest of the result, in hexadecimal."""
    counts: Mapping[str, int] = field(default_factory=dict)
    is_done: bool = False
    created_at: datetime
    updated_at: datetime
    version: int = 0
    """0 until the checkpoint is stored for the first time."""

    @property
    def result(self) -> PassResult:
        return PassResult(
            scanned=self.scanned,
            changed=self.changed,
            wrong=self.wrong,
            digest=int(self.digest or "0", 16),
            counts=self.counts,
        )

    def after_page(self, page: ScanPage, page_result: PassResult, now: datetime) -> "ScanCheckpoint":
        """Returns the checkpoint after a page that has been processed."""
        total = self.result + replace(page_result, scanned=page.scanned_count)
        return replace(
            self,
            resume_key=encode_key(page.next_key),
            scanned=total.scanned,
            changed=total.changed,
            wrong=total.wrong,
            digest=f"{total.digest:032x}",
            counts=dict(total.counts),
            is_done=page.next_key is None,
            updated_at=now,
            version=self.version + 1,
        )


checkpoints = entity(ScanCheckpoint, table=ControlKey("JOB#{job_id}", "CHECKPOINT#{pass_name}#{segment:03d}"))

checkpoint_by_segment = checkpoints.get()


def new_checkpoints(job_id: JobId, pass_name: str, segment_count: int, now: datetime) -> list[ScanCheckpoint]:
    """Returns the checkpoints of a pass that has not started."""
    return [
        ScanCheckpoint(
            job_id=job_id,
            pass_name=pass_name,
            segment=number,
            segment_count=segment_count,
            created_at=now,
            updated_at=now,
        )
        for number in range(segment_count)
    ]


async def load_checkpoints(store: JobRepository, job: Job, pass_name: str, segment_count: int) -> list[ScanCheckpoint]:
    """Returns the checkpoint of every segment of a pass: the stored one, or a new one if none is stored."""
    fresh = new_checkpoints(job.id, pass_name, segment_count, store.now())
    keys = [{"job_id": job.id, "pass_name": pass_name, "segment": number} for number in range(segment_count)]
    stored = await store.table.find_many(checkpoint_by_segment, keys)
    return [old or new for old, new in zip(stored, fresh, strict=True)]


def checkpoint_write(before: ScanCheckpoint, after: ScanCheckpoint) -> Write[ScanCheckpoint]:
    """Returns the write that saves a checkpoint. It fails if another worker has saved that checkpoint meanwhile."""
    if before.version == 0:
        return put(checkpoints, after, when=absent(), on_failure=TAKEN_OVER)
    return update_model(checkpoints, before, after, on_failure=TAKEN_OVER)


def sum_results(segments: Iterable[ScanCheckpoint]) -> PassResult:
    return sum((segment.result for segment in segments), start=PassResult())


def encode_key(key: Item | None) -> str | None:
    return orjson.dumps(key).decode() if key else None


def decode_key(text: str | None) -> Item | None:
    return orjson.loads(text) if text else None
