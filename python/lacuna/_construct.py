"""Arrays made of others, or of nothing."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._coo import coo_array
from ._csr import csr_array
from ._inputs import is_sparse, value_type


def _in_format(made, format):
    return made if format is None else made.asformat(format)


def eye_array(m, n=None, *, k=0, dtype=np.float64, format=None):
    """Ones on the k-th diagonal.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.eye_array(2, 3, k=1).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    n = m if n is None else n
    length = max(0, min(m + min(k, 0), n - max(k, 0)))
    i = np.arange(length)
    made = coo_array((np.ones(length, value_type(dtype)), (i - min(k, 0), i + max(k, 0))), shape=(m, n))
    return _in_format(made.tocsr(), format)


def eye(m, n=None, k=0, dtype=np.float64, format=None):
    """The same with SciPy's older signature."""
    return eye_array(m, n, k=k, dtype=dtype, format=format)


def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):
    """A matrix from its diagonals; a number stands for a diagonal of it where `shape` is given.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(3, 3)).toarray()
    array([[ 2., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  2.]])
    """
    if np.isscalar(offsets):
        diagonals = [diagonals] if np.ndim(diagonals) else [np.atleast_1d(diagonals)]
        offsets = [offsets]
    if len(diagonals) != len(offsets):
        raise ValueError(f"{len(diagonals)} diagonals and {len(offsets)} offsets")
    diagonals = [np.atleast_1d(d) for d in diagonals]
    if shape is None:
        n = len(diagonals[0]) + abs(int(offsets[0]))
        shape = (n, n)
    m, n = shape
    rows, cols, data = [], [], []
    for d, k in zip(diagonals, offsets):
        length = min(m + min(k, 0), n - max(k, 0))
        if length < 0:
            raise ValueError(f"Offset {k} is outside of {m} x {n}")
        if len(d) not in (1, length):
            raise ValueError(f"Diagonal length ({len(d)} at {k}) does not agree with array size ({m}, {n}).")
        i = np.arange(length)
        rows.append(i - min(k, 0))
        cols.append(i + max(k, 0))
        data.append(np.broadcast_to(d, length))
    join = np.concatenate
    made = coo_array((join(data), (join(rows), join(cols))), shape=shape, dtype=dtype)
    return _in_format(made.tocsr(), format)


def random_array(shape, *, density=0.01, format="csr", dtype=np.float64, rng=None, data_sampler=None):
    """A matrix with ``density * rows * columns`` entries at random places.

    Parameters
    ----------
    shape : tuple of int
    density : float, optional
        Share of places that have an entry.
    rng : numpy.random.Generator or int, optional
        Where randomness comes from; a number is a seed.
    data_sampler : callable, optional
        ``data_sampler(size=n)`` draws values; without it they are uniform in [0, 1).

    Examples
    --------
    >>> import lacuna
    >>> lacuna.random_array((100, 50), density=0.1, rng=1).nnz
    500
    """
    m, n = shape
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    rng = np.random.default_rng(rng)
    count = round(density * m * n)
    places = rng.choice(m * n, size=count, replace=False, shuffle=False) if m * n < 2**31 else _distinct(rng, m * n, count)
    data = rng.random(count) if data_sampler is None else data_sampler(size=count)
    made = coo_array((np.asarray(data).astype(value_type(dtype)), np.divmod(places, max(n, 1))), shape=shape)
    return _in_format(made.tocsr(), format)


def _distinct(rng, size, count):
    found = np.unique(rng.integers(size, size=count))
    while len(found) < count:
        found = np.unique(np.concatenate([found, rng.integers(size, size=count - len(found))]))
    return found


def random(m, n, density=0.01, format="csr", dtype=np.float64, rng=None, data_rvs=None):
    """The same with SciPy's older signature."""
    sampler = None if data_rvs is None else (lambda size: data_rvs(size))
    return random_array((m, n), density=density, format=format, dtype=dtype, rng=rng, data_sampler=sampler)


def _matrices(blocks):
    made = [csr_array(b) if is_sparse(b) else csr_array(np.atleast_2d(b)) for b in blocks]
    if not made:
        raise ValueError("blocks must not be empty")
    made = [b._as_shape(b._matrix_shape()) for b in made]
    common = np.result_type(*(b.dtype for b in made))
    made = [b.astype(common, copy=False) for b in made]
    if any(b.indices.dtype == np.int64 for b in made) or sum(b.nnz for b in made) > np.iinfo(np.int32).max:
        made = [b._widened() for b in made]
    return made


def vstack(blocks, format=None, dtype=None):
    """Blocks one below another."""
    return _stacked("vstack", blocks, format, dtype)


def hstack(blocks, format=None, dtype=None):
    """Blocks side by side.

    Examples
    --------
    >>> import lacuna
    >>> I = lacuna.eye_array(2)
    >>> lacuna.hstack([I, 2 * I]).toarray()
    array([[1., 0., 2., 0.],
           [0., 1., 0., 2.]])
    """
    return _stacked("hstack", blocks, format, dtype)


def block_diag(mats, format=None, dtype=None):
    """Blocks along the diagonal."""
    return _stacked("block_diag", mats, format, dtype)


def _stacked(how, blocks, format, dtype):
    made = csr_array._made(getattr(_lacuna, how)(_matrices(blocks)))
    return _in_format(made if dtype is None else made.astype(dtype, copy=False), format)


def kron(A, B, format=None):
    """The Kronecker product.

    Examples
    --------
    >>> import lacuna
    >>> lacuna.kron(lacuna.eye_array(2), [[1, 2]]).toarray()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    a, b = _matrices([A, B])
    return _in_format(csr_array._made(_lacuna.kron(a, b)), format)


def tril(A, k=0, format=None):
    """Entries on and below the k-th diagonal."""
    return _in_format(csr_array._made(_lacuna.triangle(csr_array(A), k, False)), format)


def triu(A, k=0, format=None):
    """Entries on and above the k-th diagonal."""
    return _in_format(csr_array._made(_lacuna.triangle(csr_array(A), k, True)), format)
