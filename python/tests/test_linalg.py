"""Solvers: residuals, and what SciPy's signatures promise."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import lacuna
from lacuna import linalg


@pytest.fixture(scope="module")
def poisson():
    A = lacuna.generate("poisson2d:n=32")
    return A, A @ np.sin(np.arange(1024.0))


METHODS = ["cg", "minres", "bicgstab", "gmres"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_methods(poisson, name, dtype):
    A, b = poisson[0].astype(dtype), poisson[1].astype(dtype)
    rtol = 1e-8 if dtype == np.float64 else 1e-4
    ours = getattr(linalg, name)
    for M in (None, linalg.amg(A), linalg.jacobi(A)):
        x, info = ours(A, b, rtol=rtol, M=M)
        assert info == 0 and x.dtype == dtype and x.shape == b.shape
        assert np.linalg.norm(b - A @ x) <= 1.01 * rtol * np.linalg.norm(b)


@pytest.mark.parametrize("name", METHODS)
def test_operators_of_others(poisson, name):
    A, b = poisson
    theirs = A.toscipy()
    ours = getattr(linalg, name)
    M = scipy.sparse.linalg.LinearOperator(A.shape, lambda r: r / 4)
    for operator in (theirs, scipy.sparse.linalg.aslinearoperator(theirs), A.toarray(), A.tocsc(), A.todynamic()):
        x, info = ours(operator, b, rtol=1e-8, M=M)
        assert info == 0
        assert np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
    x0 = np.sin(np.arange(1024.0))
    x, info = ours(A, b, x0=x0, rtol=1e-8)
    assert info == 0
    np.testing.assert_allclose(x, x0, atol=1e-12)


def test_callbacks(poisson):
    A, b = poisson
    residuals = []
    _, info = linalg.cg(A, b, rtol=1e-8, callback=lambda x: residuals.append(np.linalg.norm(b - A @ x)))
    assert info == 0 and len(residuals) > 10 and residuals[-1] < 1e-7 * residuals[0]
    norms = []
    linalg.gmres(A, b, rtol=1e-8, callback=norms.append, callback_type="pr_norm")
    assert norms[-1] <= 1e-8 < norms[0]

    def fails(x):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        linalg.cg(A, b, callback=fails)

    def bad(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        linalg.cg(scipy.sparse.linalg.LinearOperator(A.shape, bad, dtype=float), b)


def test_info(poisson):
    A, b = poisson
    assert linalg.cg(A, b, rtol=1e-12, maxiter=3)[1] == 3
    indefinite = lacuna.csr_array(np.diag([1.0, -1.0, 2.0]))
    assert linalg.cg(indefinite, np.ones(3), rtol=1e-10)[1] < 0
    assert linalg.minres(indefinite, np.ones(3), rtol=1e-10)[1] == 0
    for bad in (np.ones(5), np.ones((1024, 2))):
        with pytest.raises(ValueError):
            linalg.cg(A, bad)
    with pytest.raises(ValueError):
        linalg.cg(lacuna.csr_array((3, 4)), np.ones(3))
    with pytest.raises(TypeError):
        linalg.cg(A, 1j * b)


def test_scipys_cg_with_our_amg():
    A = lacuna.generate("poisson2d:n=100")
    b = np.random.default_rng(1).random(10000)
    counted = []
    M = linalg.amg(A)
    x, info = scipy.sparse.linalg.cg(A, b, M=M, rtol=1e-8, callback=lambda _: counted.append(1))
    assert info == 0 and len(counted) < 25
    assert "levels" in M.explain() and M.nbytes > 0
    with pytest.raises(TypeError):
        linalg.amg(A, no_such_option=1)
    with pytest.raises(ValueError):
        linalg.amg(A, smoother="none of these")


def test_pyamgs_gallery():
    pyamg = pytest.importorskip("pyamg")
    for A in (pyamg.gallery.poisson((60, 60), format="csr"),
              pyamg.gallery.stencil_grid(pyamg.gallery.diffusion_stencil_2d(epsilon=0.1, type="FE"), (50, 50), format="csr")):
        counted = []
        b = np.ones(A.shape[0])
        x, info = scipy.sparse.linalg.cg(A, b, M=linalg.amg(A), rtol=1e-8, callback=lambda _: counted.append(1))
        assert info == 0 and len(counted) < 40
        assert np.linalg.norm(b - A @ x) <= 1.1e-8 * np.linalg.norm(b)


def test_solve(poisson):
    A, b = poisson
    x, report = linalg.solve(A, b, return_report=True)
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    assert report["converged"] and report["method"] == "cg"
    several = linalg.solve(A, np.column_stack([b, 2 * b]))
    np.testing.assert_allclose(several, np.column_stack([x, 2 * x]), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(linalg.solve(A, b, preconditioner=linalg.amg(A)), x, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(linalg.spsolve(A.toscipy(), b), scipy.sparse.linalg.spsolve(A.toscipy().tocsc(), b), atol=1e-7)
    with pytest.raises(linalg.NotConverged) as raised:
        linalg.solve(A, b, method="cg", preconditioner="none", rtol=1e-12, maxiter=2)
    assert raised.value.report["iterations"] == 2
    with pytest.raises(ValueError):
        linalg.solve(A, b[:-1])
    with pytest.raises(ValueError):
        linalg.solve(A, b, method="none of these")


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular(lower, unit):
    rng = np.random.default_rng(1)
    dense = (np.tril if lower else np.triu)(rng.random((20, 20)) * (rng.random((20, 20)) < 0.3)) + 2 * np.eye(20)
    for b in (rng.random(20), rng.random((20, 3)), np.asfortranarray(rng.random((20, 3)))):
        ours = linalg.spsolve_triangular(lacuna.csr_array(dense), b, lower=lower, unit_diagonal=unit)
        if unit:
            matrix = dense - np.diag(np.diag(dense)) + np.eye(20)
        else:
            matrix = dense
        np.testing.assert_allclose(matrix @ ours, b, rtol=1e-10)
    with pytest.raises(ValueError):
        linalg.spsolve_triangular(lacuna.csr_array(dense + dense.T), b, lower=lower)
    if not unit:
        with pytest.raises(np.linalg.LinAlgError):
            linalg.spsolve_triangular(lacuna.csr_array(dense - np.diag(np.diag(dense))), b, lower=lower)


def test_norms():
    A = scipy.sparse.random_array((30, 20), density=0.2, rng=1, format="csr")
    A.data -= 0.5
    ours = lacuna.csr_array(A)
    for ord in (None, "fro", 1, -1, np.inf, -np.inf):
        np.testing.assert_allclose(linalg.norm(ours, ord), scipy.sparse.linalg.norm(A, ord))
    for axis in (0, 1):
        for ord in (None, 1, 2, 0, 3, np.inf, -np.inf):
            np.testing.assert_allclose(linalg.norm(ours, ord, axis), scipy.sparse.linalg.norm(A, ord, axis))
    with pytest.raises(NotImplementedError):
        linalg.norm(ours, 2)


def test_expm_multiply():
    rng = np.random.default_rng(1)
    for scale in (0.01, 1, 30):
        A = scipy.sparse.random_array((40, 40), density=0.1, rng=2, format="csr") * scale
        B = rng.random((40, 2))
        np.testing.assert_allclose(linalg.expm_multiply(lacuna.csr_array(A), B),
                                   scipy.sparse.linalg.expm_multiply(A, B), rtol=1e-10)
