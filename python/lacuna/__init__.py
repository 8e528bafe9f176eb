"""Lacuna: sparse matrices that adapt, change and solve.

At home beside SciPy: the names of `scipy.sparse`, its arrays shared without a copy, all cores.

>>> import numpy as np, lacuna
>>> A = lacuna.generate("poisson2d:n=100")
>>> b = A @ np.ones(A.shape[1])
>>> x, info = lacuna.linalg.cg(A, b, M=lacuna.linalg.amg(A), rtol=1e-8)
>>> info, bool(np.allclose(x, 1, atol=1e-5))
(0, True)
"""

from ._lacuna import version as __version__
from ._array import sparse_array
from ._device_array import device_array
from ._csr import csc_array, csr_array
from ._coo import coo_array
from ._dynamic import dynamic_array
from ._block import block_array
from ._construct import block_diag, diags, eye, eye_array, hstack, kron, random, random_array, tril, triu, vstack
from ._files import generate, generators, read, write
from ._picture import spy
from ._plan import plan, tune
from ._threads import get_threads, set_threads
from . import cuda, graph, linalg


def from_scipy(A):
    """A SciPy sparse array or matrix as Lacuna's of the same format, over the same arrays.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, lacuna
    >>> S = scipy.sparse.eye_array(4, format="csr")
    >>> bool(np.shares_memory(lacuna.from_scipy(S).data, S.data))
    True
    """
    made = {"csc": csc_array, "coo": coo_array}.get(A.format, csr_array)
    return made(A)


__all__ = [
    "block_array", "block_diag", "coo_array", "csc_array", "csr_array", "cuda", "device_array", "diags", "dynamic_array", "eye", "eye_array",
    "from_scipy", "generate", "generators", "get_threads", "graph", "hstack", "kron", "linalg", "plan",
    "random", "random_array", "read", "set_threads", "sparse_array", "spy", "tril", "triu", "tune",
    "vstack", "write",
]
