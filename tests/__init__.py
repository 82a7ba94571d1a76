"""The tests of both packages."""

import os
import sys
from pathlib import Path

if sys.dont_write_bytecode:
    # A run starts about a hundred Python processes, and without bytecode each of them compiles about 1,500 modules.
    # PYTHONDONTWRITEBYTECODE keeps files out of the source folders. They stay out: pytest's own cache has the bytecode.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
