"""The dynoxide that tests run: skipped where it cannot be had, except in CI, where that is a failure."""

import os
from pathlib import Path

import pytest

from keyfence.local.engines.dynoxide_binary import find_or_fetch, shared_cache
from keyfence.local.engines.engine import EngineMissing


def dynoxide_binary(directory: Path | None = None) -> Path:
    """Out of the cache that all runs of this user share, or out of another directory."""
    try:
        return find_or_fetch(directory or shared_cache(), lambda _: None)
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(missing.message)  # a laptop without npm still has moto
