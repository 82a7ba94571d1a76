"""The refresh thread runs until it is stopped, also if its task fails."""

from threading import Event

from keyfence_iam.sts.session_refresh import RefreshThread


def test_a_failed_run_does_not_end_the_thread() -> None:
    runs, has_run_three_times = [0], Event()

    def fail() -> None:
        runs[0] += 1
        if runs[0] == 3:
            has_run_three_times.set()
        raise ZeroDivisionError

    thread = RefreshThread(fail, interval_seconds=0.001)
    thread.start()
    assert has_run_three_times.wait(60)
    thread.stop()
    assert not thread._thread.is_alive()


def test_stopping_does_not_wait_for_the_next_run() -> None:
    thread = RefreshThread(lambda: None, interval_seconds=3600)
    thread.start()
    thread.stop()
    assert not thread._thread.is_alive()
