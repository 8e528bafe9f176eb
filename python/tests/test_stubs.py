"""The stubs name what there is, and all of it, with the parameters that it has."""

import ast
import importlib
import inspect
import pathlib

import pytest

import lacuna

FOLDER = pathlib.Path(lacuna.__file__).parent


def parameters(node):
    a = node.args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def check_function(node, function):
    if node.name.startswith("__") and node.name != "__init__":
        return
    there = [p.name for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    assert [p for p in parameters(node) if p != "self"] == [p for p in there if p != "self"], node.name


@pytest.mark.parametrize("name", ["lacuna", "lacuna.cuda", "lacuna.linalg", "lacuna.graph"])
def test_stubs(name):
    module = importlib.import_module(name)
    file = FOLDER / ("__init__.pyi" if name == "lacuna" else name.split(".")[1] + ".pyi")
    tree = ast.parse(file.read_text())
    named = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
            check_function(node, getattr(module, node.name))
        elif isinstance(node, ast.ClassDef):
            named.add(node.name)
            there = getattr(module, node.name, None)
            if there is None:
                assert node.name.startswith("_")
                continue
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    if there is lacuna.sparse_array and member.name in ("nnz", "nbytes", "dtype", "__getitem__"):
                        continue  # of each format's own
                    function = inspect.getattr_static(there, member.name)
                    if inspect.isfunction(function):
                        check_function(member, function)
    public = {n for n in getattr(module, "__all__", []) if not inspect.ismodule(getattr(module, n))}
    if name == "lacuna.graph":
        public = {"closure", "reverse_cuthill_mckee"}
    assert public <= named, public - named
