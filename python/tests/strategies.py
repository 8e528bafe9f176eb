"""Matrices that hypothesis draws, as SciPy's and as ours."""

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import lacuna

VALUE_TYPES = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_]


@st.composite
def entries(draw, shape=None, dtypes=VALUE_TYPES, most=12):
    """(data, row, col, shape): any order, some places several times, small whole values so that sums
    are exact."""
    m, n = shape if shape is not None else (draw(st.integers(0, most)), draw(st.integers(0, most)))
    count = draw(st.integers(0, 30)) if m * n else 0
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low = 0 if np.dtype(dtype).kind in "bu" else -3
    data = rng.integers(low, 4, count).astype(dtype)
    width = draw(st.sampled_from([np.int32, np.int64]))
    row, col = (rng.integers(0, max(k, 1), count).astype(width) for k in (m, n))
    return data, row, col, (m, n)


def rows_of(data, row, col, shape):
    """CSR arrays with every entry, rows neither sorted nor unique, as floats."""
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))]).astype(row.dtype)
    return data[order].astype(np.float32 if data.dtype == np.float32 else np.float64), col[order], indptr[: shape[0] + 1]


@st.composite
def pairs(draw, shape=None, **kwargs):
    """The same matrix twice: SciPy's and ours, in CSR, CSC or COO."""
    data, row, col, shape = draw(entries(shape=shape, **kwargs))
    arrays = rows_of(data, row, col, shape)
    theirs = scipy.sparse.csr_array(arrays, shape=shape, copy=True)  # SciPy's methods may change its arrays
    format = draw(st.sampled_from(["csr", "csc", "coo"]))
    if format == "csr":
        return theirs, lacuna.csr_array(arrays, shape=shape)
    if format == "csc":
        return theirs.tocsc(), lacuna.csc_array(theirs.tocsc(), copy=True)
    return theirs.tocoo(), lacuna.coo_array((data, (row, col)), shape=shape)


def same(ours, theirs):
    """Both as dense arrays of the same shape, values equal bit by bit, but for rounding in float32."""
    ours = ours.toarray() if hasattr(ours, "toarray") else np.asarray(ours)
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else np.asarray(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=0)
