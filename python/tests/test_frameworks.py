"""CuPy's, PyTorch's and JAX's own arrays: taken without a copy, given back without one, on their streams.
Those that are not installed, or see no device, are skipped by name."""

import importlib

import numpy as np
import pytest
import scipy.sparse

import lacuna

pytestmark = pytest.mark.skipif(not lacuna.cuda.is_available(), reason="no CUDA device")
rng = np.random.default_rng(7)


def library(name):
    """A library whose arrays can be on a device, or a skipped test."""
    try:
        return importlib.import_module(name)
    except Exception as e:
        pytest.skip(f"no {name}: {e}")


def address(x):
    return x.__cuda_array_interface__["data"][0]


def random_csr(rows=300, cols=200, dtype=np.float64):
    S = scipy.sparse.random_array((rows, cols), density=0.05, format="csr", dtype=dtype, rng=3)
    S.sort_indices()
    return S


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cupy(dtype):
    cupy = library("cupy")
    cusparse = library("cupyx.scipy.sparse")
    S = random_csr(dtype=dtype)
    theirs = cusparse.csr_matrix(scipy.sparse.csr_matrix(S))
    A = lacuna.csr_array(theirs)
    for name in ("data", "indices", "indptr"):
        assert address(getattr(A, name)) == address(getattr(theirs, name))
        assert address(cupy.asarray(getattr(A, name))) == address(getattr(theirs, name))
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for shape in (200, (200, 5)):
        x = cupy.asarray(rng.random(shape).astype(dtype))
        for operand in (x, cupy.asfortranarray(x)):
            y = cupy.asarray(A @ operand)
            assert y.dtype == dtype
            cupy.testing.assert_allclose(y, theirs @ x, rtol=tolerance)
    z = cupy.asarray(rng.random(300).astype(dtype))
    cupy.testing.assert_allclose(cupy.asarray(A.T @ z), theirs.T @ z, rtol=tolerance)
    out = cupy.zeros(300, dtype)
    A.matvec(cupy.ones(200, dtype), out=out)
    cupy.testing.assert_allclose(out, theirs @ cupy.ones(200, dtype), rtol=tolerance)
    square = A @ A.T
    np.testing.assert_allclose(square.to("cpu").toarray(), (theirs @ theirs.T).get().toarray(), rtol=10 * tolerance, atol=tolerance)
    back = cusparse.csr_matrix((cupy.asarray(square.data), cupy.asarray(square.indices), cupy.asarray(square.indptr)), shape=square.shape)
    assert address(back.data) == address(square.data)
    cupy.testing.assert_allclose(back @ z, cupy.asarray(square @ z), rtol=10 * tolerance)


def test_cupy_streams():
    cupy = library("cupy")
    A = lacuna.generate("poisson3d:n=60").to("cuda")
    expected = (lacuna.generate("poisson3d:n=60") @ np.full(216000, 3.0))
    for non_blocking in (False, True):
        stream = cupy.cuda.Stream(non_blocking=non_blocking)
        for _ in range(20):
            with stream, lacuna.cuda.stream(stream):
                x = cupy.ones(216000)
                for _ in range(5):
                    x = x * 2
                x -= 29  # 3, once all that is queued before has been done
                y = cupy.asarray(A @ x)
                twice = y + y
            stream.synchronize()
            np.testing.assert_array_equal(twice.get(), 2 * expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch(dtype):
    torch = library("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no device")
    S = random_csr(dtype=np.dtype(dtype))
    kind = getattr(torch, dtype)
    theirs = torch.sparse_csr_tensor(torch.as_tensor(S.indptr.astype(np.int64)), torch.as_tensor(S.indices.astype(np.int64)),
                                     torch.as_tensor(S.data), size=S.shape, device="cuda")
    A = lacuna.csr_array(theirs)
    assert A.device == "cuda:0" and address(A.data) == theirs.values().data_ptr()
    assert address(A.indices) == theirs.col_indices().data_ptr()
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for shape in ((200,), (200, 5)):
        x = torch.rand(*shape, dtype=kind, device="cuda")
        torch.testing.assert_close(torch.from_dlpack(A @ x), theirs @ x, rtol=tolerance, atol=tolerance)
    z = torch.rand(300, dtype=kind, device="cuda")
    torch.testing.assert_close(torch.from_dlpack(A.T @ z), theirs.to_dense().T @ z, rtol=tolerance, atol=tolerance)
    out = torch.zeros(300, dtype=kind, device="cuda")
    A.matvec(torch.ones(200, dtype=kind, device="cuda"), out=out)
    torch.testing.assert_close(out, theirs @ torch.ones(200, dtype=kind, device="cuda"), rtol=tolerance, atol=tolerance)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), lacuna.cuda.stream(stream):
        x = torch.ones(200, dtype=kind, device="cuda") * 2
        y = torch.from_dlpack(A @ x) / 2
    stream.synchronize()
    torch.testing.assert_close(y, out, rtol=tolerance, atol=tolerance)


def test_jax():
    jax = library("jax")
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as e:
        pytest.skip(f"JAX sees no device: {e}")
    S = random_csr(dtype=np.float32)
    A = lacuna.csr_array(S).to("cuda")
    x = jax.device_put(np.ones(200, np.float32), device)
    y = jax.dlpack.from_dlpack(A @ x)
    np.testing.assert_allclose(np.asarray(y), S @ np.ones(200, np.float32), rtol=1e-5)


def test_solvers_with_cupy():
    cupy = library("cupy")
    A = lacuna.generate("poisson2d:n=100").to("cuda")
    b = cupy.ones(10000)
    x, info = lacuna.linalg.cg(A, b, M=lacuna.linalg.amg(A), rtol=1e-10)
    assert info == 0
    assert float(cupy.linalg.norm(b - cupy.asarray(A @ x))) <= 1e-8 * 100
    y = cupy.asarray(lacuna.linalg.solve(A, b))
    cupy.testing.assert_allclose(y, cupy.asarray(x), rtol=1e-5)
