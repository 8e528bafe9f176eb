"""Coordinates: the format to collect entries in."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._array import sparse_array
from ._device_array import device_array, is_device, moved, operand
from ._csr import csr_array
from ._inputs import as_indices, as_shape, as_values, index_type, is_scalar, is_shape, is_sparse, value_type


class coo_array(sparse_array):
    """Entries as (row, column, value), in any order; the same place may be there several times.

    Parameters
    ----------
    arg1 : array, sparse array or tuple
        A dense array; a sparse array; a shape; or ``(data, (row, col))``.
    shape, dtype, copy
        As of `csr_array`.

    Examples
    --------
    >>> import lacuna
    >>> A = lacuna.coo_array(([1.0, 2.0, 3.0], ([0, 1, 1], [0, 1, 1])), shape=(2, 2))
    >>> A.nnz, A.tocsr().nnz
    (3, 2)
    >>> A.toarray()
    array([[1., 0.],
           [0., 5.]])
    """

    format = "coo"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if shape is not None:
            shape = as_shape(shape)
        self.has_canonical_format = False
        if is_sparse(arg1):
            other = arg1.tocoo(copy=copy) if arg1.ndim == 2 or hasattr(arg1, "coords") else arg1.tocsr().tocoo()
            coords = other.coords if hasattr(other, "coords") else (other.row, other.col)  # CuPy's have no coords
            width = index_type(*coords)
            self.data, self._shape = other.data, tuple(other.shape)
            self.coords = tuple(as_indices(c, width) if is_device(c) else c for c in coords)
            self.has_canonical_format = bool(other.has_canonical_format)
            if copy:
                self.data, self.coords = self.data.copy(), tuple(c.copy() for c in self.coords)
        elif is_shape(arg1):
            self._shape = as_shape(arg1)
            self.data = np.zeros(0, np.float64 if dtype is None else value_type(dtype))
            self.coords = tuple(np.zeros(0, np.int32) for _ in self._shape)
            self.has_canonical_format = True
        elif isinstance(arg1, tuple):
            self._take_entries(arg1, shape, dtype, copy)
        else:
            if is_device(arg1):
                raise NotImplementedError("lacuna: csr_array takes dense arrays on a device; its tocoo() is this")
            dense = np.asarray(arg1)
            dense = np.atleast_1d(as_values(dense, dtype))
            if dense.ndim > 2:
                raise ValueError(f"lacuna: arrays have one or two dimensions, not {dense.ndim}")
            self.coords = tuple(c.astype(np.int32 if max(dense.shape, default=0) < 2**31 else np.int64) for c in dense.nonzero())
            self.data, self._shape = dense[tuple(self.coords)], dense.shape
            self.has_canonical_format = True
            if shape is not None and shape != self._shape:
                raise ValueError(f"inconsistent shapes: {self._shape} and {shape}")
        self.data = as_values(self.data, dtype)
        self._check()

    def _take_entries(self, arg1, shape, dtype, copy):
        try:
            data, coords = arg1
            coords = tuple(coords)
        except (TypeError, ValueError):
            raise TypeError("invalid input format") from None
        if shape is None and any(is_device(c) for c in coords):
            raise ValueError("lacuna: a shape is needed beside coordinates on a device")
        if shape is None:
            if any(len(c) == 0 for c in coords):
                raise ValueError("cannot infer dimensions from zero sized index arrays")
            shape = tuple(int(np.max(c)) + 1 for c in coords)
        width = index_type(*coords, largest=max(shape, default=0), narrow=True)
        self.data = as_values(data, dtype, copy)
        self.coords = tuple(as_indices(c, width, copy) for c in coords)
        self._shape = shape

    def _check(self):
        if len(self.coords) != len(self._shape):
            raise ValueError(f"{len(self.coords)} index arrays for {len(self._shape)} dimensions")
        if self.data.ndim != 1 or any(c.ndim != 1 for c in self.coords):
            raise ValueError("coordinates and data arrays must be 1-D")
        if any(len(c) != len(self.data) for c in self.coords):
            raise ValueError("all index and data arrays must have the same length")
        if self._on_device:
            return  # tocsr() looks at every index
        for k, (c, size) in enumerate(zip(self.coords, self._shape)):
            if len(c) and c.max() >= size:
                raise ValueError(f"axis {k} index {c.max()} exceeds array dimension {size}")
            if len(c) and c.min() < 0:
                raise ValueError(f"negative axis {k} index: {c.min()}")

    @property
    def device(self):
        """ "cpu", or "cuda:0" and the like."""
        return self.data.device if isinstance(self.data, device_array) else "cpu"

    def _moved(self, device):
        made = coo_array((moved(self.data, device), tuple(moved(c, device) for c in self.coords)), shape=self._shape)
        made.has_canonical_format = self.has_canonical_format
        return made

    @property
    def dtype(self):
        """Of the values."""
        return self.data.dtype

    @property
    def nnz(self):
        """Number of stored entries, duplicates counted."""
        return len(self.data)

    @property
    def row(self):
        """Of each entry."""
        return self.coords[0] if self.ndim == 2 else np.zeros_like(self.coords[0])

    @row.setter
    def row(self, value):
        self.coords = (value,) + self.coords[1:]

    @property
    def col(self):
        """Of each entry."""
        return self.coords[-1]

    @col.setter
    def col(self, value):
        self.coords = self.coords[:-1] + (value,)

    @property
    def nbytes(self):
        """Bytes of the arrays."""
        return self.data.nbytes + sum(c.nbytes for c in self.coords)

    def _storage(self):
        return f"{8 * self.col.itemsize}-bit indices, {self.nbytes} bytes"

    def _entries(self):
        """A CSR array with every entry, duplicates in their order."""
        m, n = self._shape if self.ndim == 2 else (1, self._shape[0])
        width = index_type(*self.coords, largest=max(m, n, self.nnz))
        row, col = (operand(c, width) for c in (self.row, self.col))
        made = _lacuna.from_coordinates(operand(self.data, self.dtype), row, col, m, n)
        return csr_array._made(made, self._shape)

    def tocsr(self, copy=False):
        """As a `csr_array`; duplicates are added up."""
        made = self._entries()
        made.sum_duplicates()
        return made

    def tocoo(self, copy=False):
        """Itself, or a copy."""
        return self.copy() if copy else self

    def toscipy(self):
        """As `scipy.sparse.coo_array`, over the same arrays."""
        import scipy.sparse

        return scipy.sparse.coo_array((self.data, self.coords), shape=self._shape)

    def copy(self):
        """A copy that shares no memory."""
        made = coo_array((self.data.copy(), tuple(c.copy() for c in self.coords)), shape=self._shape)
        made.has_canonical_format = self.has_canonical_format
        return made

    def _with_data(self, data):
        made = coo_array((data, self.coords), shape=self._shape)
        made.has_canonical_format = self.has_canonical_format
        return made

    def astype(self, dtype, casting="unsafe", copy=True):
        """With values of another type: float32 or float64."""
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} according to the rule {casting!r}")
        dtype = value_type(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        return self._with_data(self.data.astype(dtype))

    def transpose(self, axes=None, copy=False):
        """The transpose over the same arrays."""
        if axes not in (None, (1, 0), (0,)):
            raise ValueError("Sparse arrays do not support an 'axes' parameter because swapping dimensions is the only logical permutation.")
        made = coo_array((self.data, self.coords[::-1]), shape=self._shape[::-1])
        return made.copy() if copy else made

    def sum_duplicates(self):
        """Adds up entries with the same place, in place; they are in order afterwards."""
        if not self.has_canonical_format:
            merged = self.tocsr()
            self.data, self.coords = merged.data, merged._coordinates()
            self.has_canonical_format = True

    def eliminate_zeros(self):
        """Removes entries whose value is 0, in place."""
        keep = self.data != 0
        self.data, self.coords = self.data[keep], tuple(c[keep] for c in self.coords)

    def reshape(self, *shape, order="C", copy=False):
        """With other sizes and the same number of elements."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        shape = list(shape)
        size = int(np.prod(self._shape, dtype=object))
        if shape.count(-1) == 1:
            rest = int(np.prod([n for n in shape if n != -1], dtype=object))
            if rest == 0 or size % rest:
                raise ValueError(f"cannot reshape array of size {size} into shape {tuple(shape)}")
            shape[shape.index(-1)] = size // rest
        elif shape.count(-1) > 1:
            raise ValueError("can only specify one unknown dimension")
        shape = as_shape(shape)
        if int(np.prod(shape, dtype=object)) != size:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        if shape == self._shape:
            return self.copy() if copy else self
        wide = tuple(c.astype(np.int64) for c in self.coords)
        flat = np.ravel_multi_index(wide, self._shape, order=order) if self.nnz else wide[0]
        coords = np.unravel_index(flat, shape, order=order) if self.nnz else tuple(wide[0] for _ in shape)
        return coo_array((self.data.copy() if copy else self.data, coords), shape=shape)

    def resize(self, *shape):
        """Other sizes, in place: entries outside go."""
        shape = as_shape(shape[0] if len(shape) == 1 else shape)
        if len(shape) != self.ndim:
            raise ValueError("shape argument must be 2-D")
        keep = np.logical_and.reduce([c < n for c, n in zip(self.coords, shape)])
        self.data, self.coords = self.data[keep], tuple(c[keep] for c in self.coords)
        self._shape = shape

    def __getitem__(self, key):
        return self.tocsr()[key]

    def __imul__(self, other):
        if not is_scalar(other):
            return NotImplemented
        self.data *= self.dtype.type(other)
        return self

    def __itruediv__(self, other):
        if not is_scalar(other):
            return NotImplemented
        self.data /= self.dtype.type(other)
        return self
