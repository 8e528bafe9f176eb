"""run.py FILE [pytest options]: runs tests of the built package; 77 if something to test with is missing."""

import importlib.util
import pathlib
import sys

missing = [name for name in ("numpy", "scipy", "pytest", "hypothesis") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {sys.executable} has no {', '.join(missing)}")
    sys.exit(77)

import pytest

tests = pathlib.Path(__file__).parent
sys.path.insert(0, str(tests))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", str(tests / sys.argv[1]), *sys.argv[2:]]))
