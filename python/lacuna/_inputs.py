"""What callers hand in, as the library takes it: float32 or float64 values, int32 or int64 indices."""

from __future__ import annotations

import operator

import numpy as np

from ._device_array import device_array, is_device

INT32_MAX = np.iinfo(np.int32).max
VALUE_TYPES = (np.dtype(np.float64), np.dtype(np.float32))


def value_type(dtype) -> np.dtype:
    """The type that values of `dtype` are held in: integers and booleans as float64."""
    dtype = np.dtype(dtype)
    if dtype in VALUE_TYPES:
        return np.dtype(dtype.name)
    if dtype.kind == "c":
        raise TypeError("lacuna holds real values: take the real and the imaginary part of complex ones")
    if dtype.kind in "biu":
        return VALUE_TYPES[0]
    if dtype.kind == "f":
        return VALUE_TYPES[1] if dtype.itemsize < 4 else VALUE_TYPES[0]
    raise ValueError(f"lacuna does not support dtype {dtype}: values are float32 or float64")


def as_values(data, dtype=None, copy=False) -> np.ndarray:
    """`data` as an array of a type that is held, where it is; the same array where it already is one."""
    data = device_array(data) if is_device(data) else np.asarray(data)
    dtype = value_type(data.dtype if dtype is None else dtype)
    if data.dtype.kind == "c":
        value_type(data.dtype)
    if isinstance(data, device_array) and data.dtype.kind != "f":
        raise TypeError(f"lacuna: values on a device are float32 or float64, not {data.dtype}")
    return data.astype(dtype) if copy or data.dtype != dtype else data


def index_type(*arrays, largest=0, narrow=False) -> np.dtype:
    """int32 where all fits it. Arrays of 64-bit indices stay such unless `narrow` asks for their
    contents to be looked at."""
    if largest > INT32_MAX:
        return np.dtype(np.int64)
    for a in arrays:
        on_device = is_device(a)
        a = device_array(a) if on_device else np.asarray(a)
        if np.can_cast(a.dtype, np.int32) or a.size == 0:
            continue
        if not narrow or on_device or a.dtype.kind not in "iu" or a.max() > INT32_MAX or a.min() < -INT32_MAX - 1:
            return np.dtype(np.int64)
    return np.dtype(np.int32)


def as_indices(a, dtype, copy=False) -> np.ndarray:
    if is_device(a):
        a = device_array(a)
        return a.astype(dtype) if copy or a.dtype != dtype else a
    a = np.asarray(a)
    if a.dtype.kind not in "iu" and a.size > 0 and not np.array_equal(a, a.astype(np.int64)):
        raise ValueError(f"lacuna: indices are whole numbers, not {a.dtype}")
    return a.astype(dtype) if copy or a.dtype != dtype else a


def is_integer(x) -> bool:
    if isinstance(x, (int, np.integer)):
        return not isinstance(x, (bool, np.bool_))
    if isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype.kind in "iu":
        return True
    return False


def is_scalar(x) -> bool:
    return np.isscalar(x) or (isinstance(x, np.ndarray) and x.ndim == 0)


def is_sparse(x) -> bool:
    """Lacuna's arrays and SciPy's, and what else converts itself to CSR."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def torch_arrays(x):
    """(format, data, indices, indptr) of a compressed sparse tensor of PyTorch's; None of anything else."""
    layout = str(getattr(x, "layout", ""))
    if layout == "torch.sparse_csr":
        return "csr", x.values(), x.col_indices(), x.crow_indices()
    if layout == "torch.sparse_csc":
        return "csc", x.values(), x.row_indices(), x.ccol_indices()
    return None


def is_shape(x) -> bool:
    """Whether x is a tuple of one or two sizes, as a constructor takes it."""
    if not isinstance(x, (tuple, list)) or not 1 <= len(x) <= 2:
        return False
    return all(is_integer(n) for n in x)


def as_shape(shape) -> tuple:
    if is_integer(shape):
        shape = (shape,)
    try:
        shape = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise TypeError(f"lacuna: a shape is one or two integers, not {shape!r}") from None
    if len(shape) not in (1, 2):
        raise ValueError(f"lacuna: arrays have one or two dimensions, not {len(shape)}")
    if any(n < 0 for n in shape):
        raise ValueError("'shape' elements cannot be negative")
    return shape
