"""Linear systems: SciPy's names and signatures, Lacuna's methods.

Operators and preconditioners may be Lacuna's, SciPy's sparse arrays and LinearOperators, or dense. On
a device A and b live there, and so does the result; operators may be functions of device arrays,
preconditioners are Lacuna's.
"""

from __future__ import annotations

import json

import numpy as np

from . import _lacuna
from ._csr import csr_array
from ._device_array import device_array, is_device
from ._inputs import is_sparse, value_type

__all__ = ["NotConverged", "amg", "bicgstab", "cg", "expm_multiply", "gmres", "ic0", "ilu0", "jacobi",
           "minres", "norm", "preconditioner", "solve", "spsolve", "spsolve_triangular"]


class NotConverged(RuntimeError):
    """A solve that did not reach its tolerance; `report` says how far it came."""

    def __init__(self, text, report):
        super().__init__(text)
        self.report = report


class preconditioner:
    """z = M^-1 r. What `amg`, `jacobi`, `ilu0` and `ic0` return; also for SciPy's solvers."""

    def __init__(self, kind, A, options):
        A = csr_array(A)
        self._made = _lacuna.make_preconditioner(kind, A, options)
        self.shape, self.dtype, self.ndim = A.shape, A.dtype, 2

    def matvec(self, r):
        """M^-1 r."""
        if is_device(r):
            r = device_array(r)
            return self._made(r.ravel().astype(self.dtype, copy=False)).reshape(r.shape)
        r = np.asarray(r)
        if r.ndim == 2 and r.shape[1] != 1:
            return np.column_stack([self.matvec(c) for c in r.T])
        return self._made(np.ascontiguousarray(r.ravel(), dtype=self.dtype)).reshape(r.shape)

    rmatvec = matmat = rmatmat = matvec
    __matmul__ = matvec

    def __call__(self, r):
        return self.matvec(r)

    @property
    def nbytes(self):
        """Bytes that it holds."""
        return self._made.nbytes

    def explain(self):
        """Of multigrid its levels, sizes and complexities; the name of others."""
        return self._made.explain()

    def __repr__(self):
        return f"<lacuna preconditioner {self._made.name}: {self.shape[0]} rows, {self.nbytes} bytes>"


def amg(A, **options):
    """Algebraic multigrid as a preconditioner, for Lacuna's and SciPy's methods.

    Parameters
    ----------
    A : sparse array
        Square; for CG symmetric and positive definite. It is looked at as long as the result lives.
    kind : {"smoothed_aggregation", "classical"}, optional
    smoother : {"chebyshev", "jacobi", "l1_jacobi", "gauss_seidel"}, optional
    cycle : {"v", "w", "k"}, optional
    strength, prolongator_relaxation : float, optional
    unknowns_per_node, degree, pre_sweeps, post_sweeps, most_levels, coarse_rows : int, optional
    near_null_space : list of float, optional

    Examples
    --------
    >>> import numpy as np, scipy.sparse.linalg, lacuna
    >>> A = lacuna.generate("poisson2d:n=64")
    >>> M = lacuna.linalg.amg(A)
    >>> x, info = scipy.sparse.linalg.cg(A.toscipy(), np.ones(64 * 64), M=M, rtol=1e-8, maxiter=30)
    >>> info
    0
    """
    return preconditioner("amg", A, options)


def jacobi(A):
    """The diagonal as a preconditioner."""
    return preconditioner("jacobi", A, {})


def ilu0(A):
    """An incomplete factorisation on the pattern of A."""
    return preconditioner("ilu0", A, {})


def ic0(A):
    """The same for a symmetric, positive definite A."""
    return preconditioner("ic0", A, {})


def _function_of(A):
    """x -> A x of what is no sparse array."""
    if hasattr(A, "matvec"):
        return A.matvec
    if callable(A):
        return A
    A = np.asarray(A)
    return lambda x: A @ x


def _right_side(A, b):
    """b as an array where A lives: TypeError if it is elsewhere."""
    if not is_device(b) and not A._on_device:
        return np.asarray(b)
    if not (is_device(b) and A._on_device):
        raise TypeError("lacuna: A and b live in different places: move one of them, as by A.to(\"cuda\"), "
                        "lacuna.device_array(b) or b.get()")
    return device_array(b)


def _zeros_like(b, dtype):
    """Of b's shape and layout."""
    if not is_device(b):
        return np.zeros(b.shape, dtype, order="F")
    by_columns = b.ndim == 2 and b.strides[0] < b.strides[1]
    return _lacuna.zeros_on_device(b.shape[0], b.size // max(b.shape[0], 1), b.ndim, dtype == np.float64,
                                   by_columns, b.device_index)


def _krylov(method, A, b, x0, rtol, atol, maxiter, M, callback, with_x=True, restart=30):
    sparse = is_sparse(A)
    a = csr_array(A) if sparse else A
    shape = a.shape if hasattr(a, "shape") else np.asarray(a).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"expected square matrix (shape: {shape})")
    n = shape[0]
    b = _right_side(a, b) if sparse else device_array(b) if is_device(b) else np.asarray(b)
    if b.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {shape} and b {b.shape} are incompatible")
    if b.dtype.kind == "c":
        value_type(b.dtype)
    types = [b.dtype] + [np.dtype(o.dtype) for o in (a,) if getattr(o, "dtype", None) is not None]
    dtype = value_type(np.result_type(*types))
    if x0 is not None and (x0_shape := tuple(x0.shape if hasattr(x0, "shape") else np.shape(x0))) not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {shape} and x0 {x0_shape} are incompatible")
    b = b.ravel().astype(dtype, copy=False)
    if x0 is None:
        x = _zeros_like(b, dtype)
    elif is_device(b):
        x = _lacuna.shared_on_device(x0).ravel().astype(dtype)
    else:
        x = np.array(x0, dtype=dtype).ravel()
    if sparse:
        a = a.astype(dtype, copy=False)
    if M is not None:
        if isinstance(M, preconditioner) and M.dtype == dtype:
            M = M._made
        else:
            M = _function_of(csr_array(M) if is_sparse(M) else M)
    iterations = 10 * n if maxiter is None else int(maxiter)
    converged, reason, count, residual, text, _ = _lacuna.krylov(
        method, a if sparse else _function_of(a), not sparse, b if is_device(b) else np.ascontiguousarray(b), x,
        M, float(rtol), float(atol), max(iterations, 1), restart, callback, x if with_x else None)
    info = 0 if converged else (count or 1) if reason in ("iteration_limit", "time_limit", "stagnation") else -1
    return x, info


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """Conjugate gradients, for A symmetric and positive definite.

    Parameters
    ----------
    A : sparse array, LinearOperator or array
    b : array
    x0 : array, optional
        Initial guess.
    rtol, atol : float, optional
        The method ends when ``norm(b - A x) <= max(rtol * norm(b), atol)``.
    maxiter : int, optional
        None: ten times the rows.
    M : preconditioner, sparse array or LinearOperator, optional
        Stands for the inverse of A.
    callback : callable, optional
        ``callback(x)`` after each iteration; the same array every time, do not keep it.

    Returns
    -------
    x : ndarray
    info : int
        0: converged; positive: iterations after which it gave up; negative: the method broke down.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.generate("poisson2d:n=20")
    >>> x, info = lacuna.linalg.cg(A, np.ones(400), rtol=1e-10)
    >>> info, bool(np.linalg.norm(A @ x - 1) < 1e-8)
    (0, True)
    """
    return _krylov("cg", A, b, x0, rtol, atol, maxiter, M, callback)


def minres(A, b, x0=None, *, rtol=1e-5, shift=0.0, maxiter=None, M=None, callback=None, show=False, check=False):
    """MINRES, for A symmetric, definite or not. Arguments as of `cg`; `show` and `check` are SciPy's
    and do nothing; `shift` solves with A - shift I."""
    if shift:
        from ._construct import eye_array

        A = csr_array(A) - float(shift) * eye_array(A.shape[0])
    return _krylov("minres", A, b, x0, rtol, 0.0, maxiter, M, callback)


def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """BiCGSTAB, for any A. Arguments as of `cg`."""
    return _krylov("bicgstab", A, b, x0, rtol, atol, maxiter, M, callback)


def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None,
          callback_type=None):
    """GMRES, restarted, for any A. Arguments as of `cg`, and

    Parameters
    ----------
    restart : int, optional
        Directions that are kept; 20 if it is not given.
    maxiter : int, optional
        Restarts, as in SciPy: the method makes at most ``maxiter * restart`` iterations.
    callback_type : {"pr_norm", "x"}, optional
        Whether ``callback`` gets the relative residual of each iteration (the default), or x, which
        changes at restarts.
    """
    if callback_type not in (None, "legacy", "pr_norm", "x"):
        raise ValueError(f"Unknown callback_type: {callback_type!r}")
    n = A.shape[0] if hasattr(A, "shape") else len(A)
    restart = min(20 if restart is None else int(restart), max(n, 1))
    iterations = None if maxiter is None else int(maxiter) * restart
    return _krylov("gmres", A, b, x0, rtol, atol, iterations, M, callback, callback_type == "x", restart)


def solve(A, b, *, method="auto", preconditioner="auto", rtol=None, atol=0.0, maxiter=None, return_report=False):
    """A x = b by the method and the preconditioner that suit the matrix.

    Parameters
    ----------
    A : sparse array
        Square.
    b : array
        One right-hand side, or several as columns.
    method : str, optional
        "auto", "cg", "flexible_cg", "minres", "bicgstab" or "gmres".
    preconditioner : str or preconditioner, optional
        "auto", "none", "jacobi", "ic0", "ilu0", "amg", …, or one that was made before.
    rtol : float, optional
        Relative residual; None: 1e-8, for float32 1e-5.
    return_report : bool, optional
        Whether ``(x, report)`` is returned: a dictionary of what was picked, why and how it went.

    Raises
    ------
    NotConverged
        Where the residual is not reached.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.generate("poisson3d:n=12")
    >>> x, report = lacuna.linalg.solve(A, A @ np.ones(12**3), return_report=True)
    >>> bool(np.allclose(x, 1)), report["method"]
    (True, 'cg')
    """
    A = csr_array(A)
    b = _right_side(A, b.toarray() if is_sparse(b) else b)
    if b.dtype.kind == "c":
        value_type(b.dtype)
    if A.shape[0] != A.shape[1] or b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    dtype = value_type(np.result_type(A.dtype, b.dtype))
    right = b.astype(dtype, copy=False) if is_device(b) else np.asfortranarray(b, dtype=dtype)
    x = _zeros_like(right, dtype)
    with_it = preconditioner if isinstance(preconditioner, str) else preconditioner._made
    made = _lacuna.solve(A.astype(dtype, copy=False), right, x, method, with_it,
                         -1.0 if rtol is None else float(rtol), float(atol), 0 if maxiter is None else int(maxiter))
    report = json.loads(made[5])
    if not made[0]:
        raise NotConverged(made[4], report)
    return (x, report) if return_report else x


def spsolve(A, b):
    """`solve` by SciPy's name: iterative, to a relative residual of 1e-10 (float32: 1e-5)."""
    return solve(A, b, rtol=1e-10 if csr_array(A).dtype == np.float64 else None)


def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """x of A x = b, A a triangle.

    Parameters
    ----------
    A : sparse array
        Entries outside of the triangle are refused, as in SciPy.
    b : array
        One right-hand side, or several as columns.
    lower, unit_diagonal : bool, optional
    overwrite_A, overwrite_b : bool, optional
        SciPy's; A is never changed, and b only where it is a contiguous array of A's type.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.linalg.spsolve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0])
    array([1., 2.])
    """
    A = csr_array(A)
    b = _right_side(A, b)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix but its shape is {A.shape}.")
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"The size of the dimensions of A must be equal to the size of the first dimension of b but the shape of A is {A.shape} and the shape of b is {b.shape}.")
    if csr_array._made(_lacuna.triangle(A, 1 if lower else -1, lower)).nnz:
        raise ValueError(f"A is not triangular: it has an entry {'above' if lower else 'below'} the diagonal.")
    dtype = value_type(np.result_type(A.dtype, b.dtype))
    if is_device(b):
        x = b if overwrite_b and b.dtype == dtype else b.astype(dtype)
    else:
        reuse = overwrite_b and b.dtype == dtype and (b.flags.c_contiguous or b.flags.f_contiguous)
        x = b if reuse else np.array(b, dtype=dtype)
    try:
        _lacuna.solve_triangle(A.astype(dtype, copy=False), x, x, lower, unit_diagonal)
    except ValueError as e:
        raise np.linalg.LinAlgError(str(e)) from None
    return x


def norm(A, ord=None, axis=None):
    """Norm of a sparse array: Frobenius' (the default), 1, -1, inf or -inf; with an `axis`, of its
    rows or columns, where 2 and 0 are there, too.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.csr_array([[3.0, 0.0], [-4.0, 0.0]])
    >>> float(lacuna.linalg.norm(A)), float(lacuna.linalg.norm(A, 1)), float(lacuna.linalg.norm(A, np.inf))
    (5.0, 7.0, 4.0)
    """
    A = csr_array(A)._merged()
    if A._on_device:
        if axis is None and ord in (None, "fro", "f", 1, np.inf):
            return _lacuna.norm(A._transposed() if ord == 1 else A, ord not in (1, np.inf))
        raise NotImplementedError("lacuna: on a device there are the norms fro, 1 and inf of a matrix")
    if axis is None or (isinstance(axis, tuple) and len(axis) == 2):
        if ord in (None, "fro", "f"):
            return np.sqrt(A._over("sum_of_squares", None, A))
        if ord in (1, -1, np.inf, -np.inf):
            sums = A._over("sum_of_magnitudes", 0 if abs(ord) == 1 else 1, A)
            return sums.max() if ord > 0 else sums.min()
        if ord in (2, -2, 0):
            raise NotImplementedError("norms 2, -2 and 0 of a matrix are not there")
        raise ValueError("Invalid norm order for matrices.")
    (axis,) = axis if isinstance(axis, tuple) else (axis,)
    if not -2 <= axis < 2:
        raise ValueError(f"Invalid axis {axis!r} for an array with shape {A.shape!r}")
    if ord in (np.inf, -np.inf):
        made = abs(A)
        return (made.max(axis=axis) if ord > 0 else made.min(axis=axis)).toarray()
    if ord == 0:
        return A.count_nonzero(axis=axis).astype(A.dtype)
    if ord == 1:
        return A._over("sum_of_magnitudes", axis % 2, A)
    if ord in (None, 2):
        return np.sqrt(A._over("sum_of_squares", axis % 2, A))
    return np.power(abs(A).power(ord).sum(axis=axis), 1 / ord)


def expm_multiply(A, B):
    """exp(A) B for a vector or a block of vectors, without making exp(A): Taylor polynomials of
    A / s, s times, to double (float32: single) precision. Costs about ``2.5 * norm(A, 1)`` products
    and 20 more.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> lacuna.linalg.expm_multiply(lacuna.csr_array([[0.0, 1.0], [0.0, 0.0]]), np.array([1.0, 1.0]))
    array([2., 1.])
    """
    A = csr_array(A)
    B = np.asarray(B)
    if A.shape[0] != A.shape[1] or B.shape[0] != A.shape[0]:
        raise ValueError(f"shapes of A {A.shape} and B {B.shape} are incompatible")
    n = A.shape[0]
    shift = A.trace() / n if n else 0.0
    from ._construct import eye_array

    shifted = A - shift * eye_array(n)
    size = norm(shifted, 1) if A.nnz else 0.0
    steps = max(1, int(np.ceil(size / 4)))
    tiny = np.finfo(value_type(np.result_type(A.dtype, B.dtype))).eps / 2
    F = B.astype(value_type(np.result_type(A.dtype, B.dtype)))
    for _ in range(steps):
        term = F
        for k in range(1, 60):
            before = np.abs(term).max(initial=0)
            term = (shifted @ term) * (1.0 / (steps * k))
            F = F + term
            if before + np.abs(term).max(initial=0) <= tiny * np.abs(F).max(initial=0):
                break
        F = F * np.exp(shift / steps)
    return F
