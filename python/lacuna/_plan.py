"""Plans: a matrix in the storage that multiplies fastest on this machine."""

from __future__ import annotations

import json

from . import _lacuna
from ._csr import csr_array
from ._device_array import operand


class planned:
    """What `plan` returns: multiplies, and says why it is stored as it is."""

    def __init__(self, made, shape, dtype):
        self._made = made
        self.shape, self.dtype, self.ndim = shape, dtype, 2

    def __matmul__(self, x):
        return self._made.multiply_dense(operand(x, self.dtype), False)

    def matvec(self, x, out=None):
        """A x, into `out` if there is one."""
        return self @ x if out is None else self._made.multiply_dense(x, False, out)

    matmat = matvec

    def rmatvec(self, x, out=None):
        """A^T x, into `out` if there is one; announce such products by `transposed_multiplies`."""
        return self._made.multiply_dense(operand(x, self.dtype) if out is None else x, True, out)

    rmatmat = rmatvec

    @property
    def format(self):
        """Name of the storage."""
        return self._made.format

    @property
    def nbytes(self):
        """Bytes that the plan holds beside the matrix."""
        return self._made.nbytes

    def explain(self):
        """Format, kernel, reasons and runners-up, in sentences."""
        return self._made.explain()

    def as_dict(self):
        """The same as a dictionary."""
        return json.loads(self._made.json())

    def __repr__(self):
        return f"<lacuna.plan: {self.shape[0]} x {self.shape[1]}, {self.format}, {self.nbytes} bytes of its own>"


def plan(A, *, multiplies=1000, transposed_multiplies=0, may_reorder=False, format=""):
    """Looks at a matrix and keeps it in the storage that multiplies fastest here.

    Parameters
    ----------
    A : sparse array
        Looked at as long as the plan lives; values that change later may not be seen.
    multiplies, transposed_multiplies : float, optional
        How many products will be asked for: conversions must pay for themselves.
    may_reorder : bool, optional
        Whether rows and columns may be renumbered inside the plan.
    format : str, optional
        This one, whatever is predicted.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.generate("poisson2d:n=50")
    >>> op = lacuna.plan(A)
    >>> bool(np.allclose(op @ np.ones(2500), A @ np.ones(2500)))
    True
    >>> print(op.explain())  # doctest: +SKIP
    """
    A = csr_array(A)
    return planned(_lacuna.make_plan(A, multiplies, transposed_multiplies, may_reorder, format), A.shape, A.dtype)


def tune(*, quick=True, store=True, only=()):
    """Measures this machine's products, and stores what plans predict them with if that chooses
    better than before: for every program of this user's on this machine.

    Returns
    -------
    dict
        better, file ("" if nothing was stored), slowdown_before and slowdown (of choices, on
        geometric mean), scatter (of measurements).
    """
    better, file, before, after, scatter = _lacuna.tune(quick, store, list(only))
    return {"better": better, "file": file, "slowdown_before": before, "slowdown": after, "scatter": scatter}
