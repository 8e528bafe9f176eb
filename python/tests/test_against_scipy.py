"""Every operation beside SciPy's on matrices that hypothesis draws."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from strategies import entries, pairs, rows_of, same

import lacuna

sizes = st.integers(0, 10)


@given(entries())
def test_constructors(drawn):
    data, row, col, shape = drawn
    theirs = scipy.sparse.coo_array((data.astype(float), (row, col)), shape=shape)
    for made in (lacuna.csr_array, lacuna.csc_array, lacuna.coo_array, lacuna.dynamic_array, lacuna.block_array):
        ours = made((data, (row, col)), shape=shape)
        same(ours, theirs)
        assert ours.dtype == (np.float32 if data.dtype == np.float32 else np.float64)
        assert ours.shape == shape
        same(made(ours), theirs)
        same(made(theirs.toarray()), theirs)
        same(made(theirs.tocsr()), theirs)
        same(made(shape), np.zeros(shape))
        same(pickle.loads(pickle.dumps(ours)), theirs)
        same(ours.copy(), theirs)


@given(pairs())
def test_conversions(pair):
    theirs, ours = pair
    same(ours, theirs)
    assert ours.nnz == theirs.nnz
    for name in ("csr", "csc", "coo"):
        made = getattr(ours, "to" + name)()
        assert made.format == name
        same(made, theirs)
        same(made.toscipy(), theirs)
    same(ours.todynamic(), theirs)
    same(ours.toblock(16), theirs)
    same(ours.T, theirs.T)
    same(ours.astype(np.float32), theirs)
    same(ours.toarray(order="F"), theirs)


@given(pairs(), st.data())
def test_products_with_dense(pair, data):
    theirs, ours = pair
    if theirs.format == "coo":  # of one row it gives a number, where SciPy's other formats give a vector of one
        theirs = theirs.tocsr()
    m, n = theirs.shape
    rng = np.random.default_rng(1)
    k = data.draw(st.integers(0, 4))
    dtype = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.complex128]))
    x, X = rng.integers(-3, 4, n).astype(dtype), rng.integers(-3, 4, (n, k)).astype(dtype)
    z, Z = rng.integers(-3, 4, m).astype(dtype), rng.integers(-3, 4, (k, m)).astype(dtype)
    same(ours @ x, theirs @ x)
    same(ours @ X, theirs @ X)
    same(ours @ np.asfortranarray(X), theirs @ X)
    same(ours @ np.repeat(x, 2)[::2], theirs @ x)
    same(ours.T @ z, theirs.T @ z)
    same(z @ ours, z @ theirs)
    same(Z @ ours, Z @ theirs)
    same(ours.dot(x), theirs.dot(x))
    if dtype != np.complex128:
        same(ours.todynamic() @ x, theirs @ x)
        tree = ours.toblock(16)
        same(tree @ x, theirs @ x)
        same(tree @ X, theirs @ X)
        same(tree.T @ z, theirs.T @ z)
        same(-2 * tree.T, -2 * theirs.T)
        same(2 * tree - tree, theirs)
    if n:
        with pytest.raises(ValueError):
            ours @ x[:-1]


def test_block_arrays():
    ours = lacuna.generate("web:n=300")
    theirs, tree = ours.toscipy(), ours.toblock(32)
    both = tree + tree.T
    assert isinstance(both, lacuna.block_array) and both.block == 32
    same(both, theirs + theirs.T)
    same(0.5 * tree - ours, -0.5 * theirs)  # with another format: rows
    same(tree + ours.toblock(64), 2 * theirs)
    same(tree[3:7], theirs[3:7])
    same(tree @ ours, theirs @ theirs)
    same(tree.sum(axis=0), theirs.sum(axis=0))
    assert "blocks of 32" in repr(tree)
    with pytest.raises(ValueError, match="17"):
        ours.toblock(17)
    with pytest.raises(ValueError):
        tree @ np.ones(7)
    with pytest.raises(ValueError):
        tree + tree[:5]


@given(st.data(), sizes, sizes, sizes)
def test_products_with_sparse(data, m, k, n):
    a, ours_a = data.draw(pairs(shape=(m, k)))
    b, ours_b = data.draw(pairs(shape=(k, n)))
    same(ours_a @ ours_b, a @ b)
    same(ours_a @ b, a @ b)
    same(a @ ours_b.toscipy(), a @ b)


@given(st.data(), sizes, sizes)
def test_sums_and_element_by_element(data, m, n):
    a, ours_a = data.draw(pairs(shape=(m, n)))
    b, ours_b = data.draw(pairs(shape=(m, n)))
    same(ours_a + ours_b, a + b)
    same(ours_a - ours_b, a - b)
    same(ours_a - b, a - b)
    same(ours_a * ours_b, a.toarray() * b.toarray())
    same(ours_a.multiply(b), a.toarray() * b.toarray())
    same(ours_a.maximum(ours_b), np.maximum(a.toarray(), b.toarray()))
    same(ours_a.minimum(ours_b), np.minimum(a.toarray(), b.toarray()))
    same(ours_a + b.toarray(), a.toarray() + b.toarray())
    for op in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        same(getattr(ours_a, op)(ours_b), getattr(a.toarray(), op)(b.toarray()))
        same(getattr(ours_a, op)(1), getattr(a.toarray(), op)(1))
        same(getattr(ours_a, op)(0), getattr(a.toarray(), op)(0))


@given(pairs())
def test_with_scalars(pair):
    theirs, ours = pair
    dense = theirs.toarray()
    same(2 * ours, 2 * dense)
    same(ours * 2.5, dense * 2.5)
    same(ours / 2, dense / 2)
    same(-ours, -dense)
    same(abs(ours), abs(dense))
    same(ours.power(2), dense**2)
    same(ours + 0, dense)
    with pytest.raises(NotImplementedError):
        ours + 1
    with pytest.raises(TypeError):
        ours * 1j


@given(pairs())
def test_by_axis(pair):
    theirs, ours = pair
    m, n = theirs.shape
    for axis in (None, 0, 1, -1):
        same(ours.sum(axis=axis), theirs.sum(axis=axis))
        if m and n:
            np.testing.assert_allclose(ours.mean(axis=axis), theirs.toarray().mean(axis=axis), rtol=1e-6, atol=1e-6)
            same(ours.max(axis=axis), theirs.max(axis=axis))
            same(ours.min(axis=axis), theirs.min(axis=axis))
            for name in ("nanmax", "nanmin", "argmax", "argmin"):
                same(getattr(ours, name)(axis=axis), getattr(theirs.tocsr(), name)(axis=axis))
        same(ours.count_nonzero(axis=axis), np.count_nonzero(theirs.toarray(), axis=axis))
    with pytest.raises(ValueError):
        ours.sum(axis=2)


@given(pairs(), st.integers(-12, 12))
def test_diagonals_and_triangles(pair, k):
    theirs, ours = pair
    same(ours.diagonal(k), theirs.diagonal(k))
    same(ours.trace(k), theirs.trace(k))
    same(lacuna.tril(ours, k), scipy.sparse.tril(theirs, k))
    same(lacuna.triu(ours, k), scipy.sparse.triu(theirs, k))
    for ours_of, dense_of in zip(ours.nonzero(), theirs.toarray().nonzero()):
        same(ours_of, dense_of)


@given(entries())
def test_order(drawn):
    arrays = rows_of(*drawn)
    theirs = scipy.sparse.csr_array(arrays, shape=drawn[3], copy=True)
    ours = lacuna.csr_array(arrays, shape=drawn[3], copy=True)
    assert ours.has_sorted_indices == theirs.has_sorted_indices
    assert ours.has_canonical_format == theirs.has_canonical_format
    for name in ("sort_indices", "sum_duplicates", "eliminate_zeros"):
        getattr(ours, name)()
        getattr(theirs, name)()
        np.testing.assert_array_equal(ours.indptr, theirs.indptr)
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        if name != "sort_indices":  # SciPy's leaves duplicates in any order
            np.testing.assert_array_equal(ours.data, theirs.data)
        same(ours, theirs)
        lacuna.csr_array(ours).check_format()


@st.composite
def keys(draw, shape):
    def one(size):
        kinds = ["slice", "list"] + (["int"] if size else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "int":
            return draw(st.integers(-size, size - 1))
        if kind == "slice":
            return draw(st.slices(size))
        numbers = st.lists(st.integers(-size, size - 1), max_size=6) if size else st.just([])
        return np.array(draw(numbers), dtype=int)

    row, col = one(shape[0]), one(shape[1])
    if isinstance(row, np.ndarray) and isinstance(col, np.ndarray):
        if draw(st.booleans()):
            return np.ix_(row, col)
        k = min(len(row), len(col))
        return row[:k], col[:k]
    return draw(st.sampled_from([(row, col), row]))


@given(st.data())
def test_indexing(data):
    theirs, ours = data.draw(pairs())
    dense = theirs.toarray()
    key = data.draw(keys(theirs.shape))
    same(ours[key], dense[key])
    mask = dense[:, 0] > 0 if theirs.shape[1] else np.zeros(theirs.shape[0], bool)
    same(ours[mask], dense[mask])
    if 0 not in theirs.shape:
        same(ours[dense > 0], dense[dense > 0])
        same(ours[0], dense[0])
        same(ours[-1] @ np.ones(theirs.shape[1]), dense[-1].sum())
    with pytest.raises(IndexError):
        ours[theirs.shape[0], 0]
    with pytest.raises(IndexError):
        ours[0, 0, 0]


@given(st.data())
def test_assignment(data):
    theirs, ours = data.draw(pairs())
    ours, dense = lacuna.dynamic_array(ours), theirs.toarray().astype(float)
    for _ in range(3):
        key = data.draw(keys(theirs.shape))
        value = data.draw(st.sampled_from([0.0, 2.0, -1.5]))
        ours[key] = value
        dense[key] = value
    if np.size(dense[key]):
        values = np.arange(np.size(dense[key])).reshape(np.shape(dense[key]))
        if len(np.unique(np.arange(dense.size).reshape(dense.shape)[key])) == values.size:
            ours[key] = values
            dense[key] = values
    same(ours, dense)
    assert ours.nnz == ours.tocsr().nnz


@given(st.data())
def test_batches(data):
    theirs, ours = data.draw(pairs(dtypes=[np.float64]))
    batch, row, col, _ = data.draw(entries(shape=theirs.shape, dtypes=[np.float64]))
    ours = lacuna.dynamic_array(ours)
    ours.insert(batch, (row, col))
    same(ours, theirs + scipy.sparse.coo_array((batch, (row, col)), shape=theirs.shape))
    ours.compact()
    ours.erase((row, col))
    dense = theirs.toarray()
    dense[row, col] = 0
    same(ours, dense)


@given(pairs(shape=(5, 4)), st.integers(-4, 3), st.sampled_from([0.0, 2.0, [1.0, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
def test_setdiag(pair, k, values):
    theirs, ours = pair
    ours, theirs = lacuna.dynamic_array(ours), scipy.sparse.lil_array(theirs.tocsr())
    ours.setdiag(values, k)
    theirs.setdiag(values, k)
    same(ours, theirs)


@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_built_of_blocks(data, m, n):
    a, ours_a = data.draw(pairs(shape=(m, n)))
    b, ours_b = data.draw(pairs(shape=(m, n)))
    same(lacuna.hstack([ours_a, ours_b]), scipy.sparse.hstack([a, b]))
    same(lacuna.vstack([ours_a, b, ours_b]), scipy.sparse.vstack([a, b, b]))
    same(lacuna.block_diag([ours_a, ours_b]), scipy.sparse.block_diag([a, b]))
    same(lacuna.kron(ours_a, ours_b), scipy.sparse.kron(a, b))
    k = data.draw(st.integers(-6, 6))
    same(lacuna.eye_array(m, n, k=k), np.eye(m, n, k=k))


@given(st.data())
def test_broadcasting(data):
    a, ours = data.draw(pairs(shape=(3, 4)))
    row, ours_row = data.draw(pairs(shape=(1, 4)))
    column, ours_column = data.draw(pairs(shape=(3, 1)))
    same(ours * ours_row, a.toarray() * row.toarray())
    same(ours * ours_column, a.toarray() * column.toarray())
    same(ours * row.toarray(), a.toarray() * row.toarray())
    same(ours * np.arange(4), a.toarray() * np.arange(4))
    same(ours / np.arange(1, 5), a.toarray() / np.arange(1, 5))


@given(pairs())
def test_reshape(pair):
    theirs, ours = pair
    m, n = theirs.shape
    same(ours.reshape(n, m), theirs.toarray().reshape(n, m))
    same(ours.reshape((m * n,)), theirs.toarray().reshape(m * n))
    same(ours.reshape((n, m), order="F"), theirs.toarray().reshape((n, m), order="F"))


@pytest.mark.parametrize("spec", ["poisson2d:n=200", "tridiagonal:n=60000", "rmat:scale=12", "circuit:n=20000",
                                  "uniform:rows=300,cols=90000,per_row=400", "uniform:rows=90000,cols=300,per_row=2"])
def test_transposed_products_by_threads(spec):
    """Sums of all columns, in windows, by one thread and by more than there are cores."""
    ours = lacuna.generate(spec)
    theirs, x = ours.toscipy().T, np.arange(1.0, ours.shape[0] + 1) % 7 - 3
    ours.data[:] = theirs.data[:] = np.arange(ours.nnz) % 5 - 2
    unsorted = lacuna.csr_array((ours.data, ours.indices, ours.indptr), shape=ours.shape)
    threads = lacuna.get_threads()
    try:
        for count in (1, 2, 3, 7):
            lacuna.set_threads(count)
            same(ours.T @ x, theirs @ x)
            same(unsorted.T @ x, theirs @ x)
            same(ours.todynamic().rmatvec(x), theirs @ x)
    finally:
        lacuna.set_threads(threads)
