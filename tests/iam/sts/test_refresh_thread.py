"""The refresh thread runs until it is stopped, also if its task fails."""

from threading import Event

from keyfence_iam.sts.session_refresh import RefreshThread


def test_a_failed_run_does_not_end_the_thread() -> None:
    rounds, enough = [0], Event()

    def work() -> None:
        rounds[0] += 1
        if rounds[0] == 3:
            enough.set()
        raise ZeroDivisionError

    sweep = RefreshThread(work, interval_seconds=0.001)
    sweep.start()
    assert enough.wait(60)
    sweep.stop()
    seen = rounds[0]
    assert not sweep._thread.is_alive()
    assert rounds[0] == seen


def test_stopping_does_not_wait_for_the_next_run() -> None:
    sweep = RefreshThread(lambda: None, interval_seconds=3600)
    sweep.start()
    sweep.stop()
    assert not sweep._thread.is_alive()
