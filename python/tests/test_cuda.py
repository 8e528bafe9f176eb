"""Arrays on a device: protocols in both directions, places that are not mixed, streams, solvers. Without a
device all but the errors that say so are skipped."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lacuna
from strategies import pairs, same

needs_device = pytest.mark.skipif(not lacuna.cuda.is_available(), reason="no CUDA device")
rng = np.random.default_rng(1)


class by_interface:
    """An array of another library that shows __cuda_array_interface__ alone."""

    def __init__(self, x, **changed):
        self._x = lacuna.device_array(x)
        self._changed = changed

    @property
    def __cuda_array_interface__(self):
        return {**self._x.__cuda_array_interface__, **self._changed}


class by_dlpack:
    """One that shows DLPack alone, and notes the streams that it was asked for."""

    def __init__(self, x):
        self._x = lacuna.device_array(x)
        self.streams = []

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self._x.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()


class cupy_csr:
    """What CuPy's csr_matrix looks like from outside."""

    format = "csr"

    def __init__(self, S):
        self.data, self.indices, self.indptr = (by_interface(a) for a in (S.data, S.indices, S.indptr))
        for name in ("data", "indices", "indptr"):
            getattr(self, name).dtype = getattr(S, name).dtype
        self.shape, self.nnz, self.ndim = S.shape, S.nnz, 2

    def tocsr(self):
        return self


class torch_csr:
    """What PyTorch's sparse tensors look like from outside."""

    def __init__(self, S, layout="torch.sparse_csr", wrapper=by_dlpack):
        self._arrays = [wrapper(a) for a in (S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64))]
        self.shape, self.layout = S.shape, layout

    def values(self):
        return self._arrays[0]

    def col_indices(self):
        return self._arrays[1]

    def crow_indices(self):
        return self._arrays[2]

    row_indices, ccol_indices = col_indices, crow_indices


def random_csr(rows=60, cols=50, density=0.1, dtype=np.float64, seed=1):
    S = scipy.sparse.random_array((rows, cols), density=density, format="csr", dtype=dtype, rng=seed)
    S.sort_indices()
    return S


def address(x):
    return x.__cuda_array_interface__["data"][0]


def close(ours, theirs):
    theirs = theirs.toarray() if hasattr(theirs, "toarray") else theirs
    ours = ours.to("cpu").toarray() if isinstance(ours, lacuna.sparse_array) else ours.get()
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12 if theirs.dtype == np.float64 else 1e-4, atol=1e-6)


def test_without_a_device():
    assert lacuna.cuda.device_count() >= 0
    A = lacuna.csr_array(np.eye(3))
    assert A.device == "cpu" and A.to("cpu") is A and A.to("cpu", copy=True) is not A
    for name in ("gpu", "cuda:x", "cuda:-1", ""):
        with pytest.raises(ValueError, match="a device is"):
            A.to(name)
    with pytest.raises(RuntimeError, match="no CUDA|is not there") as e:
        A.to("cuda:99")
    assert "\n" not in str(e.value)


def test_out_on_the_host():
    S = random_csr()
    A = lacuna.csr_array(S)
    x, y = rng.random(50), np.empty(60)
    assert A.matvec(x, out=y) is y
    np.testing.assert_allclose(y, S @ x)
    A.T.rmatvec(x, out=y)
    np.testing.assert_allclose(y, S @ x)
    lacuna.plan(A).matvec(x, out=y)
    lacuna.dynamic_array(A).matvec(x, out=y)
    np.testing.assert_allclose(y, S @ x)
    with pytest.raises(ValueError, match="another shape"):
        A.matvec(x, out=np.empty(50))
    with pytest.raises(TypeError):
        A.matvec(x, out=np.empty(60, np.float32))


@needs_device
def test_device_arrays():
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        for a in (np.arange(5, dtype=dtype), np.arange(6, dtype=dtype).reshape(2, 3), np.asfortranarray(np.ones((3, 2), dtype)),
                  np.zeros(0, dtype)):
            x = lacuna.device_array(a)
            assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.device) == (a.shape, a.dtype, a.ndim, a.size, a.nbytes, "cuda:0")
            np.testing.assert_array_equal(x.get(), a)
            np.testing.assert_array_equal(x.to("cpu"), a)
            np.testing.assert_array_equal(x.T.get(), a.T)
            if a.flags.c_contiguous:
                np.testing.assert_array_equal(x[1:3].get(), a[1:3])
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).get(), a)
            assert x.to("cuda") is x and (x.copy().size == 0 or address(x.copy()) != address(x))
    x = lacuna.device_array(np.arange(4.0))
    np.testing.assert_array_equal((2 * x).get(), [0, 2, 4, 6])
    np.testing.assert_array_equal((x / 2).get(), [0, 0.5, 1, 1.5])
    assert x.astype(np.float32).dtype == np.float32 and x.reshape(2, 2).shape == (2, 2)
    x *= 3
    np.testing.assert_array_equal((-x).get(), [0, -3, -6, -9])
    assert repr(x) == "<lacuna.device_array: 4, float64, cuda:0>"
    with pytest.raises(TypeError, match="not copied to the host unasked"):
        np.asarray(x)
    with pytest.raises(TypeError, match="the other in host memory"):
        np.ones(4) + x
    with pytest.raises(NotImplementedError, match="sqrt"):
        np.sqrt(x)
    with pytest.raises(NotImplementedError):
        x == 0
    with pytest.raises(TypeError):
        lacuna.device_array(np.ones(3, complex))


@needs_device
def test_protocols_in_and_out():
    x = lacuna.device_array(np.arange(6.0).reshape(2, 3))
    for y in (lacuna.device_array(by_interface(x)), lacuna.device_array(by_dlpack(x))):
        assert address(y) == address(x) and y.shape == (2, 3) and y.dtype == np.float64
    interface = x.__cuda_array_interface__
    assert interface["version"] == 3 and interface["typestr"] == "<f8" and interface["stream"] == 1
    assert interface["strides"] is None and x.T.__cuda_array_interface__["strides"] == (8, 24)
    assert x.__dlpack_device__() == (2, 0)
    turned = lacuna.device_array(by_interface(x.T))
    assert address(turned) == address(x)
    np.testing.assert_array_equal(turned.get(), x.get().T)
    seen = by_dlpack(x)
    A = lacuna.csr_array(np.eye(2)).to("cuda")
    close(A @ seen, x.get())
    assert seen.streams == [1]
    x.__dlpack__(stream=-1), x.__dlpack__(stream=2), x.__dlpack__(max_version=(1, 0), copy=True)
    for stream in (0, -2):
        with pytest.raises(ValueError, match="stream 0"):
            x.__dlpack__(stream=stream)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(1, 0))
    with pytest.raises(TypeError, match="float32, float64"):
        lacuna.device_array(by_interface(x, typestr="<c16"))
    with pytest.raises(TypeError, match="dimensions"):
        lacuna.device_array(by_interface(x, shape=(1, 2, 3)))
    with pytest.raises(TypeError, match="apart"):
        lacuna.device_array(by_interface(x, strides=(24, 12)))
    with pytest.raises(ValueError, match="another size"):
        x.reshape(-2, -3)
    assert address(x[1:1]) == 0
    frozen = lacuna.device_array(by_interface(x, data=(address(x), True)))
    assert frozen.__cuda_array_interface__["data"] == (address(x), True)
    with pytest.raises(BufferError, match="read-only"):
        frozen.__dlpack__()
    with pytest.raises(TypeError, match="read-only"):
        A.matvec(lacuna.device_array(np.ones(2)), out=lacuna.device_array(by_interface(np.ones(2), data=(address(x), True))))
    frozen.__dlpack__(copy=True)


@needs_device
def test_memory_outlives_its_owners():
    A = lacuna.generate("poisson2d:n=20").to("cuda")
    data = A.data
    x = lacuna.device_array(by_dlpack(np.ones(400)))
    y = A @ x
    del A, x
    assert data.get().sum() == lacuna.generate("poisson2d:n=20").sum()
    assert np.isfinite(y.get()).all()


@needs_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wide", [False, True])
def test_products(dtype, wide):
    S = random_csr(dtype=dtype)
    host = lacuna.csr_array(S)
    A = (host._widened() if wide else host).to("cuda")
    assert A.device == "cuda:0" and A.nnz == S.nnz and A.dtype == dtype and repr(A).endswith("cuda:0>")
    x, z = rng.random(50).astype(dtype), rng.random(60).astype(dtype)
    X, Z = rng.random((50, 3)).astype(dtype), np.asfortranarray(rng.random((60, 4)).astype(dtype))
    for wrap in (lacuna.device_array, by_interface, by_dlpack):
        close(A @ wrap(x), S @ x)
        close(A.T @ wrap(z), S.T @ z)
        close(A @ wrap(X), S @ X)
        close(A.T @ wrap(Z), S.T @ Z)
        y = lacuna.device_array(np.zeros(60, dtype))
        out = wrap(y)
        assert A.matvec(wrap(x), out=out) is out
        close(y, S @ x)
        A.T.rmatvec(wrap(x), out=wrap(y))
        close(y, S @ x)
    close(lacuna.device_array(z) @ A, z @ S)
    assert (A.astype(np.float32) @ lacuna.device_array(x.astype(np.float64))).dtype == np.float64
    B = lacuna.csr_array(random_csr(50, 40, dtype=dtype)).to("cuda")
    close(A @ B, S @ B.to("cpu").toscipy())
    close(A @ A.T, S @ S.T)
    close(A + 2 * A, 3 * S)
    close(A - A.T.T, S - S)
    close(-A / 4, -host / 4)
    A *= 2
    close(A, 2 * S)


FLOATS = [np.float32, np.float64]


@needs_device
@given(pairs(dtypes=FLOATS), st.integers(-3, 3))
def test_like_on_the_host(pair, k):
    _, A = pair
    G = A.to("cuda")
    m, n = A.shape
    x = np.arange(n, dtype=A.dtype)
    X = np.arange(3.0 * n).reshape(n, 3).astype(A.dtype)
    assert G.shape == A.shape and G.nnz == A.nnz and G.dtype == A.dtype
    for ours, host in ((G @ lacuna.device_array(x), A @ x), (G @ by_dlpack(X), A @ X), (G.T @ (G @ by_interface(x)), A.T @ (A @ x)),
                       (G.toarray(), A.toarray()), (G.diagonal(k), A.diagonal(k))):
        assert isinstance(ours, lacuna.device_array)
        same(ours.get(), host)
    for ours, host in ((G, A), (G.T, A.T), (G.tocsr(), A.tocsr()), (G.tocsc(), A.tocsc()), (G.tocoo(), A.tocoo()), (G + 2 * G, A + 2 * A),
                       (G @ G.T, A @ A.T), (G.T @ G, A.T @ A), (lacuna.tril(G, k), lacuna.tril(A, k)), (lacuna.triu(G, k), lacuna.triu(A, k)),
                       (G[: m // 2, n // 3 :], A[: m // 2, n // 3 :]), (G.astype(np.float64), A.astype(np.float64)), (G.todynamic(), A)):
        assert ours.device == "cuda:0" and ours.shape == host.shape
        same(ours.to("cpu"), host)
    assert G.tocsr().has_canonical_format == A.tocsr().has_canonical_format
    G, A = G.tocsr(), A.tocsr()
    G.eliminate_zeros(), A.eliminate_zeros()
    assert G.nnz == A.nnz and G.has_sorted_indices == A.has_sorted_indices


@needs_device
@given(pairs(dtypes=FLOATS, shape=(6, 5)), pairs(dtypes=[np.float64], shape=(6, 5)))
def test_elements_like_on_the_host(one, other):
    A, B = one[1], other[1].astype(one[1].dtype)
    G, H = A.to("cuda"), B.to("cuda")
    for f in (lambda a, b: a.multiply(b), lambda a, b: a.maximum(b), lambda a, b: a.minimum(b), lambda a, b: a == b, lambda a, b: a < b,
              lambda a, b: a >= b, lambda a, b: abs(a), lambda a, b: a.power(2), lambda a, b: a.sign(), lambda a, b: a.max(axis=0),
              lambda a, b: a.min(axis=1), lambda a, b: lacuna.hstack([a, b]), lambda a, b: lacuna.vstack([a, b]),
              lambda a, b: lacuna.block_diag([a, b]), lambda a, b: lacuna.kron(a, b), lambda a, b: a[[1, 1, 4], [0, 2, 4]],
              lambda a, b: a[:, [3, 1, 1]], lambda a, b: a[[5, 5]]):
        ours = f(G, H)
        assert ours.device == "cuda:0"
        same(ours.to("cpu"), f(A, B))
    for f in (lambda a: a.sum(axis=0), lambda a: a.sum(axis=1), lambda a: a.mean(axis=0), lambda a: a.tocsr().getnnz(axis=0), lambda a: a.tocsr().getnnz(axis=1)):
        same(f(G).get(), f(A))
    for f in (lambda a: a.sum(), lambda a: a.max(), lambda a: a.min(), lambda a: a.trace(), lambda a: a[2, 3], lambda a: a.mean()):
        same(f(G), f(A))


@needs_device
def test_places_are_not_mixed():
    S = random_csr(50, 50)
    host, A = lacuna.csr_array(S), lacuna.csr_array(S).to("cuda")
    x = np.ones(50)
    on_device = lacuna.device_array(x)
    for f in (lambda: A @ x, lambda: host @ on_device, lambda: A.T @ x, lambda: host.T @ on_device, lambda: A @ x.tolist(),
              lambda: A @ host, lambda: host @ A, lambda: A + host, lambda: A @ S, lambda: A.matvec(x, out=on_device),
              lambda: A.matvec(on_device, out=x), lambda: host.matvec(x, out=on_device), lambda: lacuna.plan(A) @ x,
              lambda: lacuna.plan(host) @ on_device, lambda: lacuna.dynamic_array(A) @ x, lambda: A.toscipy(),
              lambda: lacuna.linalg.cg(A, x), lambda: lacuna.linalg.cg(A, on_device, x0=x),
              lambda: lacuna.linalg.solve(host, on_device),
              lambda: lacuna.csr_array((on_device, np.zeros(50, int), np.zeros(51, int)), shape=(50, 50)),
              lambda: lacuna.dynamic_array(A).insert(x[:1], ([0], [0]))):
        with pytest.raises(TypeError) as e:
            f()
        assert "lacuna:" in str(e.value) and "\n" not in str(e.value), str(e.value)
    with pytest.raises(ValueError, match="mismatch"):
        A @ on_device[:10]
    with pytest.raises(ValueError, match="another shape"):
        A.matvec(on_device, out=lacuna.device_array(np.zeros(3)))


@needs_device
def test_from_cupy_and_torch():
    S = random_csr()
    theirs = cupy_csr(S)
    A = lacuna.csr_array(theirs)
    assert A.device == "cuda:0" and A.indices.dtype == np.int32
    for name in ("data", "indices", "indptr"):
        assert address(getattr(A, name)) == address(getattr(theirs, name)), name
    close(A, S)
    copied = lacuna.csr_array(theirs, copy=True)
    assert address(copied.data) != address(A.data)
    for wrapper in (by_dlpack, by_interface):
        theirs = torch_csr(S, wrapper=wrapper)
        A = lacuna.csr_array(theirs)
        assert A.indices.dtype == np.int64
        for name, there in (("data", theirs.values()), ("indices", theirs.col_indices()), ("indptr", theirs.crow_indices())):
            assert address(getattr(A, name)) == address(lacuna.device_array(there)), name
        close(A, S)
    columns = lacuna.csc_array(torch_csr(S.T.tocsc().T, "torch.sparse_csr"))
    close(columns, S)
    turned = torch_csr(S, "torch.sparse_csc")
    turned.shape = S.shape[::-1]
    close(lacuna.csc_array(turned), S.T)
    close(lacuna.csr_array(turned), S.T)
    on_host = torch_csr(S, wrapper=np.asarray)
    assert np.shares_memory(lacuna.csr_array(on_host).data, S.data)


@needs_device
def test_constructors():
    S = random_csr()
    parts = [lacuna.device_array(a) for a in (S.data, S.indices, S.indptr)]
    A = lacuna.csr_array(tuple(parts), shape=S.shape)
    assert address(A.data) == address(parts[0])
    close(A, S)
    with pytest.raises(ValueError, match="shape"):
        lacuna.csr_array(tuple(parts))
    with pytest.raises(ValueError):
        lacuna.csr_array(tuple(parts), shape=(60, 3))
    C = S.tocoo()
    coords = tuple(lacuna.device_array(c) for c in C.coords)
    close(lacuna.csr_array((lacuna.device_array(C.data), coords), shape=C.shape), S)
    twice = lacuna.coo_array((lacuna.device_array(np.array([1.0, 2.0])), tuple(lacuna.device_array(np.array([1, 1])) for _ in range(2))), shape=(3, 3))
    assert twice.device == "cuda:0" and twice.nnz == 2 and twice.tocsr().nnz == 1
    close(twice, np.diag([0.0, 3.0, 0.0]))
    dense = lacuna.device_array(S.toarray())
    close(lacuna.csr_array(dense), S)
    close(lacuna.csc_array(by_dlpack(dense)), S)


@needs_device
def test_there_and_back():
    S = random_csr()
    for make in (lacuna.csr_array, lacuna.csc_array, lacuna.coo_array, lacuna.dynamic_array):
        A = make(S)
        there = A.to("cuda")
        assert type(there) is make and there.device == "cuda:0" and there.to("cuda:0") is there
        back = there.to("cpu")
        assert type(back) is make and back.device == "cpu"
        np.testing.assert_array_equal(back.toarray(), S.toarray())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(there)).to("cpu").toarray(), S.toarray())
        assert pickle.loads(pickle.dumps(there)).device == "cuda:0"
        assert str(there) == repr(there) and "cuda:0" in there._repr_html_()
    with pytest.raises(NotImplementedError, match="tocsr"):
        lacuna.block_array(S).to("cuda")


@needs_device
def test_structure():
    S = random_csr(50, 50)
    A = lacuna.csr_array(S).to("cuda")
    close(A.toarray(), S.toarray())
    close(A.toarray(order="F"), S.toarray())
    close(A.T.tocsr(), S.T)
    close(A.tocsc(), S)
    close(A.tocoo(), S)
    close(A.tocoo().tocsr(), S)
    close(A.copy(), S)
    close(A.diagonal(), S.diagonal())
    close(A.diagonal(3), S.diagonal(3))
    close(A.T.diagonal(-2), S.T.diagonal(-2))
    close(lacuna.tril(A, -1), scipy.sparse.tril(S, -1))
    close(lacuna.triu(A), scipy.sparse.triu(S))
    close(A[3:20, 5:], S[3:20, 5:])
    close(A[[4, 1, 1]], S[[4, 1, 1]])
    close(A[:, [7, 2]], S[:, [7, 2]])
    close(A[::2], S[::2])
    row = A[5]
    assert row.shape == (50,) and row.device == "cuda:0"
    np.testing.assert_array_equal(row.to("cpu").toarray(), S[5].toarray())
    A.data *= 0
    A.eliminate_zeros()
    assert A.nnz == 0
    messy = scipy.sparse.csr_array((np.array([1.0, 2, 3, 4]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    B = lacuna.csr_array(messy.copy()).to("cuda")
    assert not B.has_sorted_indices and not B.has_canonical_format
    B.sort_indices()
    assert B.has_sorted_indices and not B.has_canonical_format and B.nnz == 4
    B.has_canonical_format = False
    B.sum_duplicates()
    assert B.has_canonical_format and B.nnz == 3
    close(B, messy)


@needs_device
def test_what_is_not_there_says_so():
    A = lacuna.csr_array(random_csr(20, 20)).to("cuda")
    for f in (lambda: A > 1, A.nonzero, lambda: A.resize(3, 3), lambda: lacuna.linalg.norm(A, axis=0), lambda: A.argmax(), A.deg2rad):
        with pytest.raises((NotImplementedError, TypeError)) as e:
            f()
        assert "lacuna:" in str(e.value)


@needs_device
def test_dynamic():
    S = random_csr(40, 40)
    D = lacuna.dynamic_array(S).to("cuda")
    x = rng.random(40)
    close(D @ by_dlpack(x), S @ x)
    close(D.rmatvec(lacuna.device_array(x)), S.T @ x)
    y = lacuna.device_array(np.empty(40))
    D.matvec(lacuna.device_array(x), out=y)
    close(y, S @ x)
    rows, cols, data = np.array([0, 3, 3]), np.array([1, 2, 39]), np.array([5.0, 6.0, 7.0])
    host = lacuna.dynamic_array(S)
    on_device = tuple(lacuna.device_array(c) for c in (rows, cols))
    assert D.insert(lacuna.device_array(data), on_device) == host.insert(data, (rows, cols))
    close(D, host)
    assert D.insert(by_interface(data), on_device, "replace") == host.insert(data, (rows, cols), "replace")
    assert D.erase(on_device) == host.erase((rows, cols)) == 3
    D[1, 2] = host[1, 2] = 4.0
    D[[5, 6], [7, 8]] = host[[5, 6], [7, 8]] = 2.5
    assert D[1, 2] == 4.0
    D[1, 2] = host[1, 2] = 0
    D.compact()
    close(D, host)
    with pytest.raises(TypeError, match="insert"):
        D[[5, 6], [7, 8]] = [1.0, 2.0]


@needs_device
def test_plan():
    A = lacuna.generate("poisson2d:n=40")
    x = rng.random(1600)
    op = lacuna.plan(A.to("cuda"), transposed_multiplies=10)
    close(op @ by_interface(x), A @ x)
    close(op.rmatvec(by_dlpack(x)), A.T @ x)
    y = lacuna.device_array(np.zeros(1600))
    op.matvec(lacuna.device_array(x), out=y)
    close(y, A @ x)
    assert op.format in op.explain()


@needs_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solvers(dtype):
    host = lacuna.generate("poisson2d:n=16", dtype=dtype)
    A = host.to("cuda")
    b = (host @ np.ones(256, dtype)).astype(dtype)
    on_device = by_dlpack(b)
    tolerance = 1e-4 if dtype == np.float32 else 1e-7
    made = [lacuna.linalg.amg(A), lacuna.linalg.jacobi(A), lacuna.linalg.ilu0(A), lacuna.linalg.ic0(A), None]
    for method in ("cg", "minres", "bicgstab", "gmres"):
        for M in made if method == "cg" else (made[1], None):
            x, info = getattr(lacuna.linalg, method)(A, on_device, rtol=tolerance, M=M)
            assert info == 0 and isinstance(x, lacuna.device_array) and x.dtype == dtype
            assert np.linalg.norm(b - host @ x.get()) <= 2 * tolerance * np.linalg.norm(b)
    close(made[1] @ lacuna.device_array(b), b / 4)
    assert "levels" in made[0].explain()
    x, report = lacuna.linalg.solve(A, lacuna.device_array(b), return_report=True)
    np.testing.assert_allclose(x.get(), 1, rtol=1e-2)
    X = lacuna.linalg.solve(A, lacuna.device_array(np.column_stack([b, 2 * b])), preconditioner=made[0])
    np.testing.assert_allclose(X.get(), [[1, 2]] * 256, rtol=1e-2)
    x0 = lacuna.device_array(np.ones(256, dtype))
    x, info = lacuna.linalg.cg(A, on_device, x0=x0, rtol=tolerance)
    assert info == 0 and address(x) != address(x0)
    seen = []
    lacuna.linalg.cg(A, lacuna.device_array(b), rtol=tolerance, callback=lambda x: seen.append(x.shape))
    assert seen and set(seen) == {(256,)}
    L, lower = lacuna.tril(A), lacuna.tril(host)
    close(lacuna.linalg.spsolve_triangular(L, lacuna.device_array(b)), lacuna.linalg.spsolve_triangular(lower, b))
    for ord in ("fro", 1, np.inf):
        np.testing.assert_allclose(lacuna.linalg.norm(A, ord), lacuna.linalg.norm(host, ord), rtol=1e-5)
    with pytest.raises(TypeError, match="preconditioner"):
        lacuna.linalg.cg(A, lacuna.device_array(b), M=lambda r: r)


@needs_device
def test_operators_may_be_functions():
    host = lacuna.generate("poisson2d:n=10")
    A = host.to("cuda")

    class twice:
        shape, dtype = A.shape, A.dtype

        def matvec(self, x):
            assert isinstance(x, lacuna.device_array)
            return by_interface(2 * (A @ x))

    b = host @ np.ones(100)
    x, info = lacuna.linalg.cg(twice(), lacuna.device_array(b), rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x.get(), 0.5, rtol=1e-6)


@needs_device
def test_closure():
    A = lacuna.generate("uniform:rows=40,cols=40,per_row=2")
    close(lacuna.graph.closure(A.to("cuda")), lacuna.graph.closure(A).toarray())


@needs_device
def test_streams():
    A = lacuna.generate("poisson2d:n=20")
    there = A.to("cuda")
    x = rng.random(400)

    class cupys:
        ptr = 2  # the thread's own default stream, which every process has

    class torchs:
        cuda_stream, device_index = 2, 0

    for s in (cupys(), torchs(), 2):
        with lacuna.cuda.stream(s) as entered:
            assert entered.device == "cuda:0"
            seen = by_dlpack(x)
            y = there @ seen
            assert seen.streams == [2] and y.__cuda_array_interface__["stream"] == 2
            with lacuna.cuda.stream(0):
                assert (there @ lacuna.device_array(x)).__cuda_array_interface__["stream"] == 1
            assert (there @ y).__cuda_array_interface__["stream"] == 2
        z = there @ y
        assert z.__cuda_array_interface__["stream"] == 1
        close(z, A @ (A @ x))
        y *= 2
        assert y.__cuda_array_interface__["stream"] == 1
    plan, dynamic, M = lacuna.plan(there), lacuna.dynamic_array(there), lacuna.linalg.jacobi(there)
    with lacuna.cuda.stream(2):
        close(plan @ lacuna.device_array(x), A @ x)
        close(dynamic @ lacuna.device_array(x), A @ x)
        close(M @ lacuna.device_array(x), x / 4)
        on_theirs = lacuna.device_array(by_interface(x, stream=1))
        assert on_theirs.__cuda_array_interface__["stream"] == 2
        others = []
        beside = threading.Thread(target=lambda: others.append(lacuna.device_array(x).__cuda_array_interface__["stream"]))
        beside.start()
        beside.join()
        assert others == [1]
    lacuna.cuda.synchronize()
    lacuna.cuda.empty_cache()
    with pytest.raises(RuntimeError, match="cuda:99"):
        lacuna.cuda.stream(0, device=99).__enter__()


@pytest.mark.skipif(lacuna.cuda.device_count() < 2, reason="no second CUDA device")
def test_two_devices():
    A = lacuna.generate("poisson2d:n=20")
    x = rng.random(400)
    second = A.to("cuda:1")
    assert second.device == "cuda:1" and second.to("cuda:0").device == "cuda:0"
    close(second @ lacuna.device_array(x, "cuda:1"), A @ x)
    close(second.to("cuda:0") @ lacuna.device_array(x), A @ x)
    assert lacuna.device_array(by_interface(lacuna.device_array(x, "cuda:1"))).device == "cuda:1"
    b, M = lacuna.device_array(x, "cuda:1"), lacuna.linalg.jacobi(A.to("cuda"))
    for f in (lambda: lacuna.linalg.cg(second, lacuna.device_array(x)), lambda: lacuna.linalg.cg(second, b, M=M)):
        with pytest.raises(TypeError, match="lacuna"):
            f()
    for f in (lambda: second @ lacuna.device_array(x), lambda: second + A.to("cuda"),
              lambda: second.matvec(lacuna.device_array(x, "cuda:1"), out=lacuna.device_array(x))):
        with pytest.raises(TypeError, match="cuda:1"):
            f()
    with lacuna.cuda.stream(0, device=1):
        assert A.to("cuda").device == "cuda:1"
    assert A.to("cuda").device == "cuda:0"
