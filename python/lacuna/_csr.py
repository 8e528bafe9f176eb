"""Compressed sparse rows and columns."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._compressed_base import _compressed
from ._device_array import device_array, is_device, operand
from ._index import parsed_key, points_of, range_or_list
from ._inputs import is_scalar, is_sparse, value_type

_multiply_dense = _lacuna.multiply_dense
_ndarray = np.ndarray


class csr_array(_compressed):
    """Compressed sparse rows.

    Parameters
    ----------
    arg1 : array, sparse array or tuple
        A dense array; a sparse array of Lacuna's, SciPy's, CuPy's or PyTorch's, whose arrays are used
        as they are where their types allow; a shape, for an array without entries;
        ``(data, (row, col))``; ``(data, indices, indptr)``. Arrays on a device stay there.
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
        if self._on_device:
            return _lacuna.coordinates(self)[-self.ndim :]
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
        made = csr_array(self._shape).to(self.device)
        return made._complement() if with_ones else made

    def _taken(self, rows, cols):
        """Rows and columns: (first, last), or lists, in which numbers may be repeated."""
        return csr_array._made(_lacuna.take(self, self._line_list(rows), self._line_list(cols)))

    def _line_list(self, lines):
        if isinstance(lines, tuple):
            return lines
        lines = np.ascontiguousarray(lines, dtype=self.indices.dtype)
        return device_array(lines, self.device) if self._on_device else lines

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

    def _checked_product(self, right):
        if self.shape[1] != right.shape[0]:
            raise ValueError("matmul: dimension mismatch")
        return self._sparse_product(right)

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
        if self._on_device or is_device(other):
            return self._device_product(other, False)
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

    def _device_product(self, x, transposed):
        if not (self._on_device and is_device(x)):
            here, there = ("the array", "the operand") if self._on_device else ("the operand", "the array")
            raise TypeError(f"lacuna: {here} is on a device and {there} in host memory: move one of them, "
                            'as by A.to("cuda"), lacuna.device_array(x) or x.get()')
        x = device_array(x)
        dtype = value_type(np.result_type(self.dtype, x.dtype))
        a = self.astype(dtype, copy=False)._as_shape(self._matrix_shape())
        try:
            return _multiply_dense(a, operand(x, dtype), transposed)
        except ValueError as e:
            raise ValueError(f"matmul: dimension mismatch: {e}") from None

    def _multiplied_into(self, x, out, transposed):
        _multiply_dense(self, x, transposed, out)
        return out

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
        points = points_of(row, col)
        if points is None:
            return self._taken(range_or_list(row, self._shape[0]), range_or_list(col, self._shape[1]))
        return self._at(*points)

    def _at(self, i, j):
        """Elements at these places, in the shape of the two arrays."""
        found = self._looked_up(i.ravel(), j.ravel())
        found = (found.get() if self._on_device and not i.ndim else found).reshape(i.shape)
        return csr_array(found) if found.ndim else found[()]

    def _looked_up(self, rows, cols):
        """Values at these places."""
        if self._sorted is None and len(rows) > 1:
            self._look_at_order()
        return _lacuna.look_up(self, self._line_list(rows), self._line_list(cols))


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
        if self._on_device or is_device(other):
            return self._rows()._device_product(other, True)
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
        points = points_of(row, col)
        if points is not None:
            made = self._rows()._at(*points[::-1])
            return made if is_scalar(made) and k.shape == () else _shaped(made, k.shape)
        part = self._rows()._taken(range_or_list(col, self._shape[1]), range_or_list(row, self._shape[0]))
        return _shaped(part._transposed() if len(k.shape) == 1 else part.T, k.shape)


def _shaped(made, shape):
    """What was selected in the shape that its key asks for."""
    if is_scalar(made):
        return csr_array(np.full(shape, made))
    if made.shape == shape:
        return made
    if made.ndim == 2 and len(shape) == 1 and made.shape[0] == 1:
        return made.tocsr()._as_shape(shape)
    return made.reshape(shape)
