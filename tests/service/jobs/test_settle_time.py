"""The settle time covers everything that a server may still do with a tenant as it was before a change."""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import keyfence
from keyfence.app import local_development, production
from keyfence.app.local_development import READ_TIMEOUT_SECONDS, with_local_timeout
from keyfence.settings import Settings, load_settings
from keyfence.store.dynamodb.client import ConnectionOptions

PARTS = ("tenant_cache_seconds", "tenant_use_seconds", "connect_timeout_seconds", "read_timeout_seconds")
SOURCE_FILES = sorted(Path(keyfence.__file__).parent.rglob("*.py"))
COMPUTED = {
    "timedelta(seconds=settings.settle_seconds)",
    "timedelta(seconds=self.settings.settle_seconds)",
    "migrator.settle_time",
    "self.settle_time",
    "self.program.settle_time",
}
"""All expressions that may be used as a settle time."""


def test_no_setting_sets_the_settle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [name for name in Settings.model_fields if "settle" in name]
    before = load_settings().settle_seconds
    monkeypatch.setenv("KEYFENCE_SETTLE_SECONDS", "0")
    assert load_settings().settle_seconds == before
    assert load_settings(settle_seconds=0.0).settle_seconds == before


@pytest.mark.parametrize("values", list(product((0.5, 40.0), repeat=len(PARTS))))
def test_the_settle_time_is_the_sum_of_the_four_settings(values: tuple[float, ...]) -> None:
    settings = Settings.model_validate(dict(zip(PARTS, values, strict=True)))
    assert settings.settle_seconds == sum(values)


@pytest.mark.parametrize("read_timeout_seconds", [None, 0.5, 40.0])
def test_the_settle_time_counts_the_timeouts_of_calls_to_aws_and_to_the_local_gate(
    read_timeout_seconds: float | None,
) -> None:
    named = {} if read_timeout_seconds is None else {"read_timeout_seconds": read_timeout_seconds}
    settings = Settings.model_validate({"connect_timeout_seconds": 0.25, "region": "us-east-1", **named})
    local_settings = with_local_timeout(settings)
    assert _counted_timeouts(settings) == _timeouts(production._connection_options(settings))
    assert _counted_timeouts(local_settings) == _timeouts(local_development.connection_options(local_settings))


def test_calls_to_the_local_gate_have_a_longer_timeout_unless_the_settings_name_one() -> None:
    default, named = Settings(), Settings.model_validate({"read_timeout_seconds": 0.5})
    assert with_local_timeout(default).settle_seconds == default.settle_seconds - 3.0 + READ_TIMEOUT_SECONDS
    assert with_local_timeout(named) == named


def test_no_code_uses_another_wait_than_the_computed_one() -> None:
    uses = [use for path in SOURCE_FILES for use in _settle_times(path)]
    assert len(uses) >= 9
    assert {use for use in uses if use not in COMPUTED} == set()


def _counted_timeouts(settings: Settings) -> float:
    return settings.settle_seconds - settings.tenant_cache_seconds - settings.tenant_use_seconds


def _timeouts(options: ConnectionOptions) -> float:
    return options.connect_timeout_seconds + options.read_timeout_seconds


def _settle_times(path: Path) -> Iterator[str]:
    """Yields the source of each argument `settle_time=...` and of each argument of `JobRun.wait` in a file of jobs."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "settle_time":
                yield ast.unparse(keyword.value)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in {"run.wait", "self.run.wait"}:
            yield ast.unparse(node.args[0])
