"""What compressed sparse rows and columns share."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._array import sparse_array
from ._device_array import device_array, is_device, moved
from ._inputs import (
    INT32_MAX,
    as_indices,
    as_shape,
    as_values,
    index_type,
    is_scalar,
    is_shape,
    is_sparse,
    torch_arrays,
    value_type,
)


class _compressed(sparse_array):
    """What CSR and CSC share: the arrays data, indices and indptr, and how they are made."""

    # The stated order of entries: True and False are known, None has not been looked at. Assigning
    # indices or indptr forgets it; changing their elements in place does not, as in SciPy.
    _sorted = None
    _unique = None

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if shape is not None:
            shape = as_shape(shape)
        if isinstance(arg1, (sparse_array,)) or is_sparse(arg1):
            self._take_sparse(arg1, copy)
        elif (theirs := torch_arrays(arg1)) is not None:
            self._take_torch(*theirs, tuple(arg1.shape), copy)
        elif is_shape(arg1):
            self._take_nothing(as_shape(arg1), dtype)
        elif isinstance(arg1, tuple):
            if len(arg1) == 2:
                from ._coo import coo_array

                self._take_sparse(coo_array(arg1, shape=shape, dtype=dtype), False)
            elif len(arg1) == 3:
                self._take_arrays(*arg1, shape, dtype, copy)
            else:
                raise ValueError(f"unrecognized {self.format}_array constructor usage")
        else:
            self._take_dense(arg1, shape, dtype)
        if shape is not None and shape != self._shape:
            if isinstance(arg1, tuple) or is_sparse(arg1):
                self._require_room(shape)
            else:
                raise ValueError(f"inconsistent shapes: {self._shape} and {shape}")
        if dtype is not None and value_type(dtype) != self.data.dtype:
            self.data = self.data.astype(value_type(dtype))

    def __setattr__(self, name, value):
        if name in ("indices", "indptr"):
            self.__dict__.pop("_sorted", None)
            self.__dict__.pop("_unique", None)
        object.__setattr__(self, name, value)

    def _take_sparse(self, other, copy):
        same = other if getattr(other, "format", None) == self.format else getattr(other, "to" + self.format)()
        if not isinstance(same, sparse_array) and same.data.dtype.kind == "c":
            value_type(same.data.dtype)
        self.data = as_values(same.data, copy=copy)
        width = index_type(same.indices, same.indptr)
        self.indices = as_indices(same.indices, width, copy)
        self.indptr = as_indices(same.indptr, width, copy)
        self._shape = tuple(same.shape)
        if isinstance(same, _compressed):
            self._sorted, self._unique = same._sorted, same._unique

    def _take_torch(self, format, data, indices, indptr, shape, copy):
        from ._csr import csc_array, csr_array

        same = object.__new__(csr_array if format == "csr" else csc_array)
        width = index_type(indices, indptr)
        same.data, same.indices, same.indptr = as_values(data), as_indices(indices, width), as_indices(indptr, width)
        same._shape = shape
        self._take_sparse(same, copy and format == self.format)

    def _take_nothing(self, shape, dtype):
        width = index_type(largest=max(shape))
        lines = 1 if len(shape) == 1 else shape[self._by_columns]
        self.data = np.zeros(0, value_type(np.float64 if dtype is None else dtype))
        self.indices = np.zeros(0, width)
        self.indptr = np.zeros(lines + 1, width)
        self._shape = shape
        self._sorted = self._unique = True

    def _take_arrays(self, data, indices, indptr, shape, dtype, copy):
        lists = not isinstance(indices, np.ndarray)
        as_array = device_array if all(is_device(a) for a in (data, indices, indptr)) else np.asarray
        data, indices, indptr = as_array(data), as_array(indices), as_array(indptr)
        if data.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1:
            raise ValueError("data, indices, and indptr should be 1-D")
        lines = len(indptr) - 1
        if shape is None and as_array is device_array:
            raise ValueError("lacuna: a shape is needed beside data, indices and indptr on a device")
        if shape is None:
            across = int(indices.max()) + 1 if len(indices) else 0
            shape = (across, lines) if self._by_columns else (lines, across)
        largest = max(*shape, len(indices)) if len(shape) == 2 else max(shape[0], len(indices))
        width = index_type(indices, indptr, largest=largest, narrow=lists)
        self.data = as_values(data, dtype, copy)
        self.indices = as_indices(indices, width, copy)
        self.indptr = as_indices(indptr, width, copy)
        self._shape = shape
        self.check_format(full_check=True)

    def _take_dense(self, dense, shape, dtype):
        try:
            dense = device_array(dense) if is_device(dense) else np.asarray(dense)
        except Exception as e:
            raise ValueError(f"unrecognized {self.format}_array constructor usage") from e
        if dense.dtype == object:
            value_type(dense.dtype)
        if dense.ndim == 0 or dense.ndim > 2 or (dense.ndim == 1 and self._by_columns):
            raise ValueError(f"{self.format}_array is made from arrays of two dimensions, not {dense.ndim}")
        dense = as_values(dense, dtype)
        wide = max(dense.shape) > INT32_MAX or dense.size > INT32_MAX
        matrix = dense.reshape(1, len(dense)) if dense.ndim == 1 else dense
        matrix = matrix if isinstance(matrix, device_array) else np.ascontiguousarray(matrix)
        made = _lacuna.from_dense(matrix.T if self._by_columns else matrix, wide)
        self._set(made, dense.shape)

    def _set(self, made, shape):
        self.data, self.indices, self.indptr, _, sorted_, unique = made
        self._shape = tuple(shape)
        self._sorted = True if sorted_ else None
        self._unique = True if unique else None

    def _require_room(self, shape):
        """Takes another shape that holds all entries."""
        if len(shape) != len(self._shape):
            raise ValueError(f"inconsistent shapes: {self._shape} and {shape}")
        self.resize(*shape)

    # Order.
    def _look_at_order(self):
        if self._sorted is None or (self._sorted and self._unique is None):
            self._sorted, self._unique = _lacuna.order_of(self._rows())

    @property
    def has_sorted_indices(self):
        """Whether indices ascend in each row (column); looked at once, then remembered."""
        if self._sorted is None:
            self._look_at_order()
        return self._sorted

    @has_sorted_indices.setter
    def has_sorted_indices(self, value):
        self._sorted = bool(value)

    @property
    def has_canonical_format(self):
        """Whether indices ascend and none is there twice."""
        self._look_at_order()
        return bool(self._sorted and self._unique)

    @has_canonical_format.setter
    def has_canonical_format(self, value):
        if value:
            self._sorted = True
        self._unique = bool(value)

    def sort_indices(self):
        """Puts indices in order, in place."""
        if not self.has_sorted_indices:
            self._set(_lacuna.sort(self._rows(), False), self._shape)

    def sorted_indices(self):
        """A copy whose indices are in order."""
        made = self.copy()
        made.sort_indices()
        return made

    def sum_duplicates(self):
        """Adds up entries with the same place, in place."""
        if not self.has_canonical_format:
            self._set(_lacuna.sort(self._rows(), True), self._shape)

    def eliminate_zeros(self):
        """Removes entries whose value is 0, in place."""
        self._set(_lacuna.select_nonzero(self._rows()), self._shape)

    def prune(self):
        """Gives back the room behind the last entry."""
        n = self.nnz
        self.data, order = self.data[:n].copy(), (self._sorted, self._unique)
        self.indices = self.indices[:n].copy()
        self._sorted, self._unique = order

    def check_format(self, full_check=True):
        """ValueError that says which rule of the format is broken."""
        lines = 1 if self.ndim == 1 else self._shape[self._by_columns]
        if len(self.indptr) != lines + 1:
            raise ValueError(f"index pointer size {len(self.indptr)} should be {lines + 1}")
        if len(self.indices) != len(self.data):
            raise ValueError("indices and data should have the same size")
        if self._on_device:
            if full_check:
                _lacuna.check(self._rows())
            return
        if self.indptr[0] != 0:
            raise ValueError("index pointer should start with 0")
        if self.indptr[-1] > len(self.indices):
            raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
        if full_check:
            _lacuna.check(self._rows())

    # Where it lives.
    @property
    def device(self):
        """ "cpu", or "cuda:0" and the like."""
        return self.indptr.device if isinstance(self.indptr, device_array) else "cpu"

    @property
    def _on_device(self):
        return isinstance(self.indptr, device_array)

    def _moved(self, device):
        n = self.nnz
        return self._like(*(moved(a, device) for a in (self.data[:n], self.indices[:n], self.indptr)))

    # Sizes.
    @property
    def dtype(self):
        """Of the values: float32 or float64."""
        return self.data.dtype

    @property
    def nnz(self):
        """Number of stored entries, zeros and duplicates counted."""
        return len(self.indices) if self._on_device else int(self.indptr[-1])

    @property
    def nbytes(self):
        """Bytes of the three arrays."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def _storage(self):
        return f"{8 * self.indices.itemsize}-bit indices, {self.nbytes} bytes"

    def __reduce__(self):
        state = (self.data, self.indices, self.indptr, self._shape, self._sorted, self._unique)
        return _unpickled, (type(self), state)

    def copy(self):
        """A copy that shares no memory."""
        return self._like(self.data.copy(), self.indices.copy(), self.indptr.copy())

    def _like(self, data, indices, indptr):
        made = object.__new__(type(self))
        made.data, made.indices, made.indptr, made._shape = data, indices, indptr, self._shape
        made._sorted, made._unique = self._sorted, self._unique
        return made

    def _with_data(self, data):
        """The same pattern with other values, which it shares."""
        n = self.nnz
        data = as_values(data)[:n]
        return self._like(data if self._on_device else np.ascontiguousarray(data), self.indices[:n], self.indptr)

    def resize(self, *shape):
        """Other sizes, in place: entries outside go."""
        shape = as_shape(shape[0] if len(shape) == 1 else shape)
        if len(shape) != self.ndim:
            raise ValueError("shape argument must be 2-D")
        rows = self._rows()
        m, n = (1, shape[0]) if len(shape) == 1 else shape[::-1] if self._by_columns else shape
        old_m, old_n = rows._matrix_shape()
        if m < old_m or n < old_n:
            rows = rows._taken((0, min(m, old_m)), (0, min(n, old_n)))
        width = index_type(rows.indices, rows.indptr, largest=max(m, n))
        indptr = np.concatenate([rows.indptr, np.full(m - len(rows.indptr) + 1, rows.indptr[-1])])
        order = (rows._sorted, rows._unique)
        self.data, self.indices = rows.data, as_indices(rows.indices, width)
        self.indptr = as_indices(indptr, width)
        self._shape, (self._sorted, self._unique) = shape, order

    # In place, where the pattern stays.
    def __imul__(self, other):
        if is_scalar(other):
            self.data *= self.dtype.type(other)
            return self
        return NotImplemented

    def __itruediv__(self, other):
        if is_scalar(other):
            self.data /= self.dtype.type(other)
            return self
        return NotImplemented

    def __iadd__(self, other):
        return self._changed_by(other, 1.0)

    def __isub__(self, other):
        return self._changed_by(other, -1.0)

    def _changed_by(self, other, beta):
        made = self._plus(other, 1.0, beta)
        if not isinstance(made, type(self)):
            return NotImplemented if made is not NotImplemented and not is_scalar(other) else made
        self.data, self.indices, self.indptr = made.data, made.indices, made.indptr
        self._sorted, self._unique = made._sorted, made._unique
        return self


def _unpickled(cls, state):
    self = object.__new__(cls)
    self.data, self.indices, self.indptr, self._shape, self._sorted, self._unique = state
    return self
