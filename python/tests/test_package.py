"""What is not SciPy's: sharing memory, errors, threads, files, pictures."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import lacuna


def test_scipy_arrays_are_shared():
    theirs = scipy.sparse.random_array((50, 40), density=0.1, format="csr", rng=1)
    for width in (np.int32, np.int64):
        theirs.indices, theirs.indptr = theirs.indices.astype(width), theirs.indptr.astype(width)
        ours = lacuna.from_scipy(theirs)
        back = ours.toscipy()
        for name in ("data", "indices", "indptr"):
            assert np.shares_memory(getattr(ours, name), getattr(theirs, name))
            assert np.shares_memory(getattr(back, name), getattr(ours, name))
    theirs.data[0] = 99
    x = np.ones(40)
    np.testing.assert_allclose(ours @ x, theirs @ x)
    assert np.shares_memory(ours.T.data, theirs.data)


def test_results_outlive_their_operands():
    A = lacuna.generate("poisson2d:n=30")
    product = A @ A
    data = product.data
    del A, product
    assert np.isfinite(data).all()


def test_complex_values_are_refused():
    for make in (
        lambda: lacuna.csr_array(np.array([[1j]])),
        lambda: lacuna.csr_array(scipy.sparse.csr_array(np.array([[1j]]))),
        lambda: lacuna.coo_array(([1j], ([0], [0]))),
        lambda: lacuna.csr_array((2, 2), dtype=complex),
    ):
        with pytest.raises(TypeError, match="real values"):
            make()


def test_bad_arrays_are_refused():
    with pytest.raises(ValueError):
        lacuna.csr_array(([1.0], [3], [0, 1]), shape=(1, 2))
    with pytest.raises(ValueError):
        lacuna.csr_array(([1.0], [0], [1, 1]), shape=(1, 2))
    with pytest.raises(ValueError):
        lacuna.csr_array(([1.0, 2.0], [0], [0, 1]))
    with pytest.raises(ValueError):
        lacuna.csr_array(([1.0], [-1], [0, 1]), shape=(1, 2))
    with pytest.raises(ValueError):
        lacuna.csr_array((3, -1))
    with pytest.raises(ValueError):
        lacuna.csr_array(np.eye(2)) + lacuna.csr_array(np.eye(3))
    A = lacuna.csr_array(np.eye(3))
    A.indices = A.indices[:1]
    with pytest.raises(ValueError):
        A @ np.ones(3)


def test_mixed_types():
    A = lacuna.csr_array(np.eye(3, dtype=np.float32))
    B = lacuna.csr_array(np.eye(3))._widened()
    assert (A @ np.ones(3, np.float32)).dtype == np.float32
    assert (A @ np.ones(3)).dtype == np.float64
    assert (A + B).dtype == np.float64 and (A @ B).indices.dtype == np.int64
    assert (2 * A).dtype == np.float32


def test_large_results_come_from_lacunas_memory():
    A = lacuna.generate("tridiagonal:n=1000000")
    y = A @ np.ones(10**6)
    assert y[0] == 1 and y[1] == 0 and y.flags.writeable
    assert (A @ np.ones((10**6, 2)))[0, 1] == 1


def test_scipy_functions_take_ours():
    A = lacuna.generate("poisson2d:n=12")
    b = np.arange(144.0)
    x, info = scipy.sparse.linalg.cg(A, b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(A @ x, b, atol=1e-6)
    w = scipy.sparse.linalg.eigsh(scipy.sparse.linalg.aslinearoperator(A), k=2, which="LA")[0]
    np.testing.assert_allclose(w, scipy.sparse.linalg.eigsh(A.toscipy(), k=2, which="LA")[0])
    np.testing.assert_allclose(scipy.sparse.linalg.spsolve(A.toscipy(), b), x, rtol=1e-6)


def test_threads():
    A = lacuna.generate("poisson2d:n=40")
    x = np.arange(1600.0)
    y = A @ x
    try:
        lacuna.set_threads(1)
        assert lacuna.get_threads() == 1
        np.testing.assert_array_equal(A @ x, y)
    finally:
        lacuna.set_threads(None)
    with pytest.raises(ValueError):
        lacuna.set_threads(0)


def test_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(limits=1, user_api="openmp"):
        assert lacuna.get_threads() == 1
    assert any(p["user_api"] == "openmp" for p in threadpoolctl.threadpool_info())


def run(code, **kwargs):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **kwargs)


def test_fork_after_threads():
    code = """
import os, numpy as np, lacuna
lacuna.set_threads(2)
A = lacuna.generate("poisson2d:n=300"); x = np.ones(90000)
y = A @ x; A @ A
pid = os.fork()
if pid == 0:
    os._exit(0 if lacuna.get_threads() == 1 and (A @ x == y).all() and (A @ A).nnz and (A + A).nnz else 1)
raise SystemExit(os.waitpid(pid, 0)[1])
"""
    assert run(code).returncode == 0


def test_interrupted_solve():
    code = """
import os, signal, threading, time, numpy as np, lacuna
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
A = lacuna.generate("poisson2d:n=300")
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    lacuna.linalg.cg(A, np.random.default_rng(1).random(90000), rtol=0, maxiter=10**7)
except KeyboardInterrupt:
    raise SystemExit(0 if time.monotonic() - began < 20 else 2)
raise SystemExit(1)
"""
    assert run(code).returncode == 0


def test_other_threads_run_meanwhile():
    A = lacuna.generate("poisson3d:n=40")
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    beside = threading.Thread(target=tick)
    beside.start()
    began = time.monotonic()
    A @ A @ A
    ended = time.monotonic()
    done.set()
    beside.join()
    assert sum(began < t < ended for t in ticks) > 2


def test_files(tmp_path):
    A = lacuna.generate("circuit:n=200")
    for name in ("a.mtx", "a.npz", "a.mtx.gz"):
        lacuna.write(tmp_path / name, A)
        np.testing.assert_array_equal(lacuna.read(tmp_path / name).toarray(), A.toarray())
    np.testing.assert_array_equal(scipy.sparse.load_npz(tmp_path / "a.npz").toarray(), A.toarray())
    assert lacuna.read(tmp_path / "a.mtx", dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        lacuna.write(tmp_path / "a.unknown", A)
    (tmp_path / "bad.mtx").write_text("nothing")
    with pytest.raises(ValueError, match="bad.mtx"):
        lacuna.read(tmp_path / "bad.mtx")


def test_pictures():
    A = lacuna.generate("poisson2d:n=20")
    html = A._repr_html_()
    assert "400 x 400" in html and "data:image/png;base64," in html
    assert "entries" in lacuna.csr_array((0, 0))._repr_html_()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert lacuna.spy(A).get_title() == "400 x 400, 1920 entries"


def test_plan():
    A = lacuna.generate("poisson2d:n=60")
    x = np.random.default_rng(1).random(3600)
    op = lacuna.plan(A, multiplies=1e6, transposed_multiplies=10)
    np.testing.assert_allclose(op @ x, A @ x, rtol=1e-12)
    np.testing.assert_allclose(op.rmatvec(x), A.T @ x, rtol=1e-12)
    assert op.format in op.explain() and op.as_dict()["format"] == op.format
    with pytest.raises(ValueError):
        lacuna.plan(A, format="none of these")


def test_generators():
    names = [name for name, _, _ in lacuna.generators()]
    assert "poisson2d" in names
    with pytest.raises(ValueError):
        lacuna.generate("no such matrix")
    assert lacuna.generate("poisson2d:n=4", dtype=np.float32).dtype == np.float32


def test_closure():
    A = lacuna.generate("uniform:rows=40,cols=40,per_row=2")
    reached = np.linalg.matrix_power(np.eye(40) + (A.toarray() != 0), 40) > 0
    np.testing.assert_array_equal(lacuna.graph.closure(A, reflexive=True).toarray() > 0, reached)
