"""The log keeps the latest denials."""

from datetime import UTC, datetime

from keyfence_iam.gate.denials import MAX_DENIALS, DenialLog, DeniedCall


def denied_call(operation: str) -> DeniedCall:
    return DeniedCall(
        denied_at=datetime(2026, 11, 16, tzinfo=UTC),
        session_arn="arn:aws:sts::000000000000:assumed-role/reader/local",
        operation=operation,
        action="dynamodb:GetItem",
        resource="*",
        message="denied",
        reason="denied by policies",
    )


def test_only_the_latest_denials_are_kept_the_oldest_first() -> None:
    log = DenialLog()
    for number in range(MAX_DENIALS + 2):
        log.add(denied_call(str(number)))
    assert [denial.operation for denial in log] == [str(number) for number in range(2, MAX_DENIALS + 2)]
