"""The examples of all docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import lacuna

MODULES = ["lacuna"] + ["lacuna." + m.name for m in pkgutil.iter_modules(lacuna.__path__) if m.name != "_lacuna"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
