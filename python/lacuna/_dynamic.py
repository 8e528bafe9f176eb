"""Arrays whose entries change."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._array import sparse_array
from ._csr import csr_array
from ._device_array import device_array, is_device, operand
from ._index import coordinates, parsed_key
from ._inputs import as_values, is_scalar, is_sparse

_RULES = {"add": 0, "replace": 1, "keep": 2}


class dynamic_array(sparse_array):
    """A sparse array whose entries are set, inserted and erased in place, batch by batch; products
    need no conversion.

    Parameters
    ----------
    arg1, shape, dtype
        As of `csr_array`; entries are copied.

    Notes
    -----
    An element that is set to 0 is erased. Assigning many elements at once is what is fast: one by
    one costs microseconds each.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.dynamic_array((3, 3))
    >>> A[0, 1] = 2.0
    >>> A[[1, 2], [1, 2]] = [5.0, 6.0]
    >>> A.insert(1.0, ([0], [1]))
    (0, 1)
    >>> A.toarray()
    array([[0., 3., 0.],
           [0., 5., 0.],
           [0., 0., 6.]])
    >>> A @ np.ones(3)
    array([3., 5., 6.])
    """

    format = "dynamic"

    def __init__(self, arg1, shape=None, dtype=None, copy=True):
        rows = csr_array(arg1, shape=shape, dtype=dtype)
        if rows.ndim != 2:
            raise ValueError("dynamic_array has two dimensions")
        rows = rows._merged()
        self._shape, self._dtype, self._width = rows.shape, rows.dtype, rows.indices.dtype
        self._device = rows.device
        self._made = _lacuna.to_dynamic(rows)

    @property
    def device(self):
        """ "cpu", or "cuda:0" and the like."""
        return self._device

    def _moved(self, device):
        return dynamic_array(self.tocsr()._moved(device))

    @property
    def dtype(self):
        """Of the values."""
        return self._dtype

    @property
    def nnz(self):
        """Number of stored entries."""
        return self._made.nnz

    @property
    def nbytes(self):
        """Bytes of entries, free places and the table of segments."""
        return self._made.nbytes

    def _storage(self):
        return f"{self._made.describe()}, {self.nbytes} bytes"

    def __reduce__(self):
        return dynamic_array, (self.tocsr(),)

    def tocsr(self, copy=False):
        """A copy as a `csr_array`."""
        return csr_array._made(self._made.to_csr())

    def copy(self):
        """A copy that shares no memory."""
        return dynamic_array(self)

    def __matmul__(self, other):
        if not (is_scalar(other) or is_sparse(other)):
            if self._on_device or is_device(other):
                return self._made.multiply_dense(operand(other, self._dtype), False)
            x = np.asarray(other)
            if x.dtype.kind in "fiub" and x.ndim in (1, 2) and np.result_type(x.dtype, self._dtype) == self._dtype:
                return self._made.multiply_dense(np.ascontiguousarray(x, dtype=self._dtype), False)
        return self.tocsr()._product(other)

    def matvec(self, x, out=None):
        """A x, into `out` if there is one."""
        return self @ x if out is None else self._made.multiply_dense(x, False, out)

    def rmatvec(self, x, out=None):
        """A^T x, into `out` if there is one."""
        return self._made.multiply_dense(x if out is not None else operand(x, self._dtype), True, out)

    def _batch(self, rows, cols):
        if self._on_device:
            return tuple(operand(c, self._width) for c in (rows, cols))
        rows, cols = np.broadcast_arrays(rows, cols)
        return tuple(np.ascontiguousarray(c.ravel(), dtype=self._width) for c in (rows, cols))

    def insert(self, data, coords, existing="add"):
        """Inserts a batch of entries; of an array on a device, from arrays there.

        Parameters
        ----------
        data : array or number
        coords : (rows, columns)
        existing : {"add", "replace", "keep"}, optional
            What becomes of an element that has an entry.

        Returns
        -------
        inserted, changed : int
        """
        rows, cols = self._batch(*coords)
        if self._on_device:
            data = operand(data, self._dtype)
        else:
            data = np.ascontiguousarray(np.broadcast_to(as_values(data, self._dtype), rows.shape))
        if existing not in _RULES:
            raise ValueError(f"existing is one of {', '.join(_RULES)}, not {existing!r}")
        return self._made.insert(data, rows, cols, _RULES[existing])

    def erase(self, coords):
        """Erases the entries at these places, if there are; returns how many there were."""
        return self._made.erase(*self._batch(*coords))

    def setdiag(self, values, k=0):
        """Sets the k-th diagonal to a number, or its first elements to those of a list."""
        m, n = self._shape
        if k <= -m or k >= n:
            raise ValueError("k exceeds array dimensions")
        values = as_values(values, self._dtype)
        length = min(m + min(k, 0), n - max(k, 0))
        if values.ndim:
            length = min(length, len(values))
            values = values[:length]
        i = np.arange(length)
        self[i - min(k, 0), i + max(k, 0)] = values

    def compact(self):
        """Puts rows side by side again: products are a CSR array's afterwards."""
        self._made.compact()

    def __getitem__(self, key):
        k = parsed_key(key, self._shape)
        if all(isinstance(i, int) for i in k.index) and k.shape == ():
            return self._dtype.type(self._made.at(*k.index))
        return self.tocsr()[key]

    def __setitem__(self, key, value):
        k = parsed_key(key, self._shape)
        i, j = coordinates(k, self._shape)
        if self._on_device:
            return self._set_to(i.ravel(), j.ravel(), value)
        if is_sparse(value):
            value = value.toarray()
        value = as_values(value, self._dtype)
        if value.ndim == 2 and i.ndim < 2:  # SciPy takes a column for a column, a row for a row
            sides = [1 if isinstance(part, int) else i.size for part in k.index]
            value = np.broadcast_to(value, sides).reshape(i.shape) if value.shape == tuple(sides) else value
        try:
            value = np.broadcast_to(value, i.shape).ravel()
        except ValueError:
            raise ValueError(f"could not broadcast an array of shape {value.shape} to {i.shape}") from None
        rows, cols = self._batch(i, j)
        if len(rows) == 0:
            return
        zero = value == 0
        if zero.any() and len(rows) > 1:  # the last one of each place counts
            places = rows.astype(np.int64) * self._shape[1] + cols
            last = len(rows) - 1 - np.unique(places[::-1], return_index=True)[1]
            rows, cols, value, zero = rows[last], cols[last], value[last], zero[last]
        if zero.any():
            self._made.erase(*self._batch(rows[zero], cols[zero]))
        if not zero.all():
            self.insert(value[~zero], (rows[~zero], cols[~zero]), "replace")

    def _set_to(self, rows, cols, value):
        """On a device elements are set to a number; their places come from the key, so from the host."""
        if not is_scalar(value):
            raise TypeError("lacuna: an array on a device is set to numbers; insert() takes arrays that are there")
        rows, cols = (device_array(c.astype(self._width), self._device) for c in (rows, cols))
        if value == 0:
            self.erase((rows, cols))
        else:
            self.insert(device_array(np.full(len(rows), value, self._dtype), self._device), (rows, cols), "replace")
