"""Compressed sparse rows and columns."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._array import sparse_array
from ._index import as_list, parsed_key
from ._inputs import (
    INT32_MAX,
    as_indices,
    as_shape,
    as_values,
    index_type,
    is_scalar,
    is_shape,
    is_sparse,
    value_type,
)

_multiply_dense = _lacuna.multiply_dense
_ndarray = np.ndarray


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
        data, indices, indptr = np.asarray(data), np.asarray(indices), np.asarray(indptr)
        if data.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1:
            raise ValueError("data, indices, and indptr should be 1-D")
        lines = len(indptr) - 1
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
            dense = np.asarray(dense)
        except Exception as e:
            raise ValueError(f"unrecognized {self.format}_array constructor usage") from e
        if dense.dtype == object:
            value_type(dense.dtype)
        if dense.ndim == 0 or dense.ndim > 2 or (dense.ndim == 1 and self._by_columns):
            raise ValueError(f"{self.format}_array is made from arrays of two dimensions, not {dense.ndim}")
        dense = np.atleast_1d(as_values(dense, dtype))
        wide = max(dense.shape) > INT32_MAX or dense.size > INT32_MAX
        matrix = np.ascontiguousarray(dense.reshape(1, len(dense)) if dense.ndim == 1 else dense)
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
        if self.indptr[0] != 0:
            raise ValueError("index pointer should start with 0")
        if len(self.indices) != len(self.data):
            raise ValueError("indices and data should have the same size")
        if self.indptr[-1] > len(self.indices):
            raise ValueError("Last value of index pointer should be less than the size of index and data arrays")
        if full_check:
            _lacuna.check(self._rows())

    # Sizes.
    @property
    def dtype(self):
        """Of the values: float32 or float64."""
        return self.data.dtype

    @property
    def nnz(self):
        """Number of stored entries, zeros and duplicates counted."""
        return int(self.indptr[-1])

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
        return self._like(np.ascontiguousarray(as_values(data)[:n]), self.indices[:n], self.indptr)

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


class csr_array(_compressed):
    """Compressed sparse rows.

    Parameters
    ----------
    arg1 : array, sparse array or tuple
        A dense array; a sparse array of Lacuna's or SciPy's, whose arrays are used as they are
        where their types allow; a shape, for an array without entries; ``(data, (row, col))``;
        ``(data, indices, indptr)``.
    shape : tuple of int, optional
        Rows and columns, where `arg1` does not say.
    dtype : dtype, optional
        float32 or float64. Integers and booleans are held as float64, complex values are refused.
    copy : bool, optional
        Whether arrays are copied that could be shared.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.csr_array([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
    >>> A
    <lacuna.csr_array: 3 x 3, 7 entries, float64, 32-bit indices, 100 bytes>
    >>> A @ np.array([1.0, 2.0, 3.0])
    array([ 2.,  4., 10.])
    >>> (A + A.T).toarray()[0]
    array([ 8., -2.,  0.])
    >>> A[1:, [0, 2]].toarray()
    array([[-1., -1.],
           [ 0.,  4.]])
    """

    format = "csr"

    def _rows(self):
        return self

    @classmethod
    def _made(cls, made, shape=None):
        """Of what the library returns."""
        self = object.__new__(cls)
        self._set(made, made[3] if shape is None else shape)
        return self

    # The matrix that the library works on: of an array of one dimension a row.
    def _matrix_shape(self):
        return self._shape if len(self._shape) == 2 else (1, self._shape[0])

    def _as_shape(self, shape):
        made = self._like(self.data, self.indices, self.indptr)
        made._shape = tuple(shape)
        return made

    def _coordinates(self):
        """Row and column of each entry."""
        rows = np.repeat(np.arange(self._matrix_shape()[0], dtype=self.indices.dtype), np.diff(self.indptr))
        cols = self.indices[: self.nnz]
        return (rows, cols) if self.ndim == 2 else (cols,)

    def _transposed(self):
        """A new CSR array of the transpose."""
        return csr_array._made(_lacuna.transpose(self))

    def _merged(self):
        """Itself if it has no duplicates, else a copy that has none."""
        return self if self.has_canonical_format else csr_array._made(_lacuna.sort(self, True), self._shape)

    def _nonzero_entries(self):
        return csr_array._made(_lacuna.select_nonzero(self), self._shape)

    def _scaled(self, factor):
        if isinstance(factor, (complex, np.complexfloating)):
            value_type(np.complex128)
        return self._with_data(self.data[: self.nnz] * self._factor(factor))

    def _factor(self, factor):
        # float32 stays what it is beside Python's numbers, and grows beside float64, as NumPy's arrays.
        return factor if isinstance(factor, (int, float)) else np.asarray(factor)[()]

    def _same_types(self, other):
        """Both with the wider of their types."""
        a, b = self, other
        if a.data.dtype != b.data.dtype:
            a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        if a.indices.dtype != b.indices.dtype:
            a, b = a._widened(), b._widened()
        return a, b

    def _widened(self):
        if self.indices.dtype == np.int64:
            return self
        return self._like(self.data, self.indices.astype(np.int64), self.indptr.astype(np.int64))

    def _added(self, other, alpha, beta):
        a, b = self._same_types(other)
        return csr_array._made(_lacuna.add(a, b, alpha, beta), self._shape)

    def _combined(self, other, rule):
        a, b = self._same_types(other)
        return csr_array._made(_lacuna.combine(a, b, rule), self._shape)

    def _compared_with(self, other, name):
        a, b = self._same_types(other)
        return csr_array._made(_lacuna.compare(a, b, name), self._shape)

    def _complement(self):
        return csr_array._made(_lacuna.complement(self), self._shape)

    def _filled(self, with_ones):
        return csr_array(np.ones(self._shape)) if with_ones else csr_array(self._shape)

    def _taken(self, rows, cols):
        """Rows and columns: (first, last), or lists, in which numbers may be repeated."""
        if not isinstance(rows, tuple):
            rows = np.ascontiguousarray(rows, dtype=self.indices.dtype)
        if not isinstance(cols, tuple):
            cols = np.ascontiguousarray(cols, dtype=self.indices.dtype)
        return csr_array._made(_lacuna.take(self, rows, cols))

    # Conversions.
    def tocsr(self, copy=False):
        """Itself, or a copy."""
        return self.copy() if copy else self

    def toscipy(self):
        """As `scipy.sparse.csr_array`, over the same arrays.

        Examples
        --------
        >>> import numpy as np, lacuna
        >>> A = lacuna.csr_array(np.eye(3))
        >>> np.shares_memory(A.toscipy().data, A.data)
        True
        """
        import scipy.sparse

        return scipy.sparse.csr_array((self.data, self.indices, self.indptr), shape=self._shape)

    def transpose(self, axes=None, copy=False):
        """The transpose as a `csc_array` over the same arrays; no entry moves."""
        if axes not in (None, (1, 0), (0,)):
            raise ValueError("Sparse arrays do not support an 'axes' parameter because swapping dimensions is the only logical permutation.")
        if self.ndim == 1:
            return self.copy() if copy else self
        return csc_array._of_rows(self.copy() if copy else self)

    def __matmul__(self, other):
        if type(other) is _ndarray and len(self._shape) == 2:
            try:
                return _multiply_dense(self, other)
            except TypeError:  # of another type, or with gaps
                pass
            except ValueError as e:
                raise ValueError(f"matmul: dimension mismatch: {e}") from None
        return self._product(other)

    def _product(self, other):
        if is_scalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if is_sparse(other):
            return self._sparse_product(csr_array(other))
        x = np.asarray(other)
        if x.dtype == object or x.ndim not in (1, 2):
            if hasattr(other, "__rmatmul__") or x.dtype == object:
                return NotImplemented
            raise ValueError(f"could not interpret dimensions of an operand of {x.ndim}")
        if x.dtype.kind == "c":
            return self._product(x.real) + 1j * self._product(x.imag)
        if x.shape[0] != self._shape[-1]:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={self._shape[-1]}),(k={x.shape[0]},m)")
        dtype = value_type(np.result_type(self.dtype, x.dtype))
        return self._dense_product(x, dtype, False)

    def _dense_product(self, x, dtype, transposed):
        a = self.astype(dtype, copy=False)._as_shape(self._matrix_shape())
        made = _multiply_dense(a, np.ascontiguousarray(x, dtype=dtype), transposed)
        return made if self.ndim == 2 else made[0]

    def _sparse_product(self, other):
        if other.shape[0] != self._shape[-1]:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={self._shape[-1]}),(k={other.shape[0]},m)")
        if other.ndim == 1:
            other = other.reshape(-1, 1)
            made = self._sparse_product(other)
            return made.reshape(made.shape[:-1]) if made.ndim == 2 else made.toarray()[0]
        a, b = self._same_types(other)
        shape = self._shape[:-1] + other.shape[1:]
        return csr_array._made(_lacuna.multiply_sparse(a._as_shape(a._matrix_shape()), b), shape)

    # Parts.
    def __getitem__(self, key):
        k = parsed_key(key, self._shape)
        if len(k.shape) > 2:
            raise IndexError("Only 1D or 2D results: >2D is not supported")
        row, col = k.index if self.ndim == 2 else (0, k.index[0])
        matrix = self._as_shape(self._matrix_shape())
        made = matrix._selected(row, col)
        return made if is_scalar(made) and k.shape == () else _shaped(made, k.shape)

    def _selected(self, row, col):
        points = _points(row, col)
        if points is None:
            return self._taken(_range_or_list(row, self._shape[0]), _range_or_list(col, self._shape[1]))
        return self._at(*points)

    def _at(self, i, j):
        """Elements at these places, in the shape of the two arrays."""
        found = self._looked_up(i.ravel(), j.ravel()).reshape(i.shape)
        return csr_array(found) if found.ndim else found[()]

    def _looked_up(self, rows, cols):
        """Values at these places."""
        if self._sorted is None and len(rows) > 1:
            self._look_at_order()
        width = self.indices.dtype
        return _lacuna.look_up(self, np.ascontiguousarray(rows, width), np.ascontiguousarray(cols, width))


class csc_array(_compressed):
    """Compressed sparse columns: the transpose of a `csr_array` over the same arrays.

    Takes the same arguments. `A.T` of a CSR array is one, and no entry moves: ``A.T @ x`` is a
    product with A's rows.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.csr_array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    >>> A.T
    <lacuna.csc_array: 3 x 2, 3 entries, float64, 32-bit indices, 48 bytes>
    >>> A.T @ np.ones(2)
    array([1., 2., 3.])
    """

    format = "csc"
    _by_columns = True

    @classmethod
    def _of_rows(cls, rows):
        """The transpose of a CSR array, whose arrays it shares."""
        self = object.__new__(cls)
        self.data, self.indices, self.indptr = rows.data, rows.indices, rows.indptr
        self._shape = rows.shape[::-1]
        self._sorted, self._unique = rows._sorted, rows._unique
        return self

    def _rows(self):
        rows = object.__new__(csr_array)
        rows.data, rows.indices, rows.indptr = self.data, self.indices, self.indptr
        rows._shape = self._shape[::-1]
        rows._sorted, rows._unique = self._sorted, self._unique
        return rows

    def _wrap(self, rows):
        return csc_array._of_rows(rows)

    def tocsr(self, copy=False):
        """As a `csr_array`: a transposition."""
        return self._rows()._transposed()

    def tocsc(self, copy=False):
        """Itself, or a copy."""
        return self.copy() if copy else self

    def toscipy(self):
        """As `scipy.sparse.csc_array`, over the same arrays."""
        import scipy.sparse

        return scipy.sparse.csc_array((self.data, self.indices, self.indptr), shape=self._shape)

    def transpose(self, axes=None, copy=False):
        """The transpose as a `csr_array` over the same arrays; no entry moves."""
        if axes not in (None, (1, 0)):
            raise ValueError("Sparse arrays do not support an 'axes' parameter because swapping dimensions is the only logical permutation.")
        return self._rows().copy() if copy else self._rows()

    def __matmul__(self, other):
        if is_sparse(other):
            if getattr(other, "format", None) == "csc":  # (B^T A^T)^T, no transposition
                return csc_array._of_rows(csc_array(other)._rows()._checked_product(self._rows()))
            return self.tocsr()._product(other)
        if type(other) is _ndarray:
            try:
                return _multiply_dense(self._rows(), other, True)
            except TypeError:
                pass
        if is_scalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        x = np.asarray(other)
        if x.dtype == object or x.ndim not in (1, 2):
            return NotImplemented
        if x.dtype.kind == "c":
            return self @ x.real + 1j * (self @ x.imag)
        if x.shape[0] != self._shape[1]:
            raise ValueError(f"matmul: dimension mismatch with signature (n,k={self._shape[1]}),(k={x.shape[0]},m)")
        return self._rows()._dense_product(x, value_type(np.result_type(self.dtype, x.dtype)), True)

    def __getitem__(self, key):
        k = parsed_key(key, self._shape)
        if len(k.shape) > 2:
            raise IndexError("Only 1D or 2D results: >2D is not supported")
        row, col = k.index
        points = _points(row, col)
        if points is not None:
            made = self._rows()._at(*points[::-1])
            return made if is_scalar(made) and k.shape == () else _shaped(made, k.shape)
        part = self._rows()._taken(_range_or_list(col, self._shape[1]), _range_or_list(row, self._shape[0]))
        return _shaped(part._transposed() if len(k.shape) == 1 else part.T, k.shape)


def _checked_product(left, right):
    if left.shape[1] != right.shape[0]:
        raise ValueError("matmul: dimension mismatch")
    return left._sparse_product(right)


csr_array._checked_product = _checked_product


def _shaped(made, shape):
    """What was selected in the shape that its key asks for."""
    if is_scalar(made):
        return csr_array(np.full(shape, made))
    if made.shape == shape:
        return made
    if made.ndim == 2 and len(shape) == 1 and made.shape[0] == 1:
        return made.tocsr()._as_shape(shape)
    return made.reshape(shape)


def _points(row, col):
    """Arrays of rows and columns of one shape, where a key picks single elements; None where it picks
    whole rows and columns."""
    if isinstance(row, slice) or isinstance(col, slice):
        if any(isinstance(p, np.ndarray) and p.ndim == 2 for p in (row, col)):
            raise IndexError("Only 1D or 2D results: >2D is not supported")
        return None
    lists = [isinstance(p, np.ndarray) for p in (row, col)]
    if all(lists) and row.ndim == 2 and row.shape[1] == 1 and (col.ndim == 1 or col.shape[0] == 1):
        return None
    if any(lists) and not all(lists) and max(np.ndim(row), np.ndim(col)) == 1:
        return None
    return np.broadcast_arrays(row, col)


def _range_or_list(part, size):
    """(first, last) where it is one, else the list of numbers."""
    if isinstance(part, int):
        return (part, part + 1)
    if isinstance(part, slice):
        first, last, step = part.indices(size)
        if step == 1:
            return (first, max(first, last))
        return as_list(part, size)
    return part.ravel()


def _unpickled(cls, state):
    self = object.__new__(cls)
    self.data, self.indices, self.indptr, self._shape, self._sorted, self._unique = state
    return self
