"""What all sparse arrays of Lacuna have in common.

Operations are those of the C++ library on CSR arrays: `_rows()` is the CSR array that an operation
works on (of a CSC array its transpose, whose arrays are the same), `_wrap()` the way back.
"""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._by_axis import by_axis, checked_axis
from ._device_array import device_array, device_name, is_device
from ._element_by_element import element_by_element
from ._inputs import is_scalar, is_sparse, value_type


class sparse_array(element_by_element, by_axis):
    """Base of Lacuna's sparse arrays; `isinstance(A, lacuna.sparse_array)` tells them apart."""

    __array_priority__ = 10.1
    __hash__ = None
    format = "any"
    _by_columns = False  # whether _rows() is the transpose

    # What a format has of its own.
    def _rows(self):
        return self.tocsr()

    def _wrap(self, rows):
        return rows

    def tocsr(self, copy=False):
        raise NotImplementedError

    # Sizes.
    @property
    def shape(self):
        """Rows and columns; one number for an array of one dimension."""
        return self._shape

    @property
    def ndim(self):
        """Number of dimensions, 1 or 2."""
        return len(self._shape)

    @property
    def size(self):
        """Number of stored entries, as SciPy has it."""
        return self.nnz

    # Where it lives.
    @property
    def device(self):
        """ "cpu", or "cuda:0" and the like."""
        return "cpu"

    @property
    def _on_device(self):
        return self.device != "cpu"

    def to(self, device, *, copy=False):
        """The array on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" or one like "cuda:1".
        copy : bool, optional
            Whether an array that is there already is copied; otherwise it is returned itself.

        Notes
        -----
        Operations run where their operands live, results live there, too, and nothing is moved
        unasked: operands in different places are a TypeError.

        Examples
        --------
        >>> import numpy as np, lacuna
        >>> A = lacuna.generate("poisson2d:n=100")
        >>> A.to("cpu") is A
        True
        >>> G = A.to("cuda")  # doctest: +SKIP
        >>> y = G @ cupy.ones(10000)  # doctest: +SKIP
        """
        device = device_name(device)
        if device == self.device:
            return self.copy() if copy else self
        return self._moved(device)

    def _moved(self, device):
        raise NotImplementedError(f"lacuna: a {self.format}_array lives in host memory; tocsr() can be moved")

    @property
    def T(self):
        """The transposed array."""
        return self.transpose()

    @property
    def real(self):
        return self

    def conj(self, copy=True):
        """Itself: values are real."""
        return self.copy() if copy else self

    conjugate = conj

    def getnnz(self, axis=None):
        """Number of stored entries, in all or by `axis`."""
        if axis is None:
            return self.nnz
        axis = checked_axis(axis, self.ndim)
        rows = self._rows()
        if self.ndim == 1:
            return self.nnz
        if self._on_device:
            return _lacuna.count_entries(rows, 1 - axis if self._by_columns else axis)
        if (axis == 1) != self._by_columns:
            return np.diff(rows.indptr)
        return np.bincount(rows.indices[: rows.nnz], minlength=rows.shape[1]).astype(rows.indices.dtype)

    def count_nonzero(self, axis=None):
        """Number of entries whose value is not 0."""
        clean = self._wrap(self._rows()._merged()._nonzero_entries())
        return clean.getnnz(axis)

    def __len__(self):
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self):
        if self.shape in ((1, 1), (1,)):
            return self.nnz != 0 and bool(self.toarray().ravel()[0] != 0)
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __iter__(self):
        for i in range(self.shape[0]):
            yield self[i]

    # Conversions.
    def tocsc(self, copy=False):
        """As a `csc_array`."""
        from ._csr import csc_array

        return csc_array._of_rows(self.tocsr()._transposed())

    def tocoo(self, copy=True):
        """As a `coo_array`."""
        from ._coo import coo_array

        rows = self.tocsr()
        made = coo_array((rows.data[: rows.nnz], rows._coordinates()), shape=self.shape)
        made.has_canonical_format = rows._unique is True and rows._sorted is True
        return made.copy() if copy else made

    def todynamic(self):
        """As a `dynamic_array`, whose entries can be changed."""
        from ._dynamic import dynamic_array

        return dynamic_array(self)

    def toblock(self, block=128):
        """As a `block_array`, multiplied with in both directions from one copy."""
        from ._block import block_array

        return block_array(self, block=block)

    def toscipy(self):
        """As SciPy's array of the same format, without a copy where SciPy has it."""
        return self.tocsr().toscipy()

    def asformat(self, format, copy=False):
        """By name: "csr", "csc", "coo", "dynamic" or "block"; None: itself."""
        if format is None or format == self.format:
            return self.copy() if copy else self
        try:
            return getattr(self, "to" + format)()
        except AttributeError:
            raise ValueError(f"Format {format} is unknown.") from None

    def toarray(self, order=None, out=None):
        """As a dense array, NumPy's or on a device a `device_array`; duplicates are added up.

        Parameters
        ----------
        order : {"C", "F"}, optional
            Layout of the result.
        out : ndarray, optional
            Where it goes, of the same shape and type.
        """
        if out is not None and order is not None:
            raise ValueError("order cannot be specified if out is not None")
        if out is not None and (out.shape != self.shape or out.dtype != self.dtype):
            raise ValueError("out array must be same dtype and shape as sparse array")
        if out is not None and self._on_device:
            raise NotImplementedError("lacuna: toarray has no out on a device")
        dense = _lacuna.to_dense(self._rows(), (order == "F") != self._by_columns)
        dense = dense.T if self._by_columns else dense.reshape(self.shape)
        if out is None:
            return dense
        out[...] = dense
        return out

    todense = toarray

    def __array__(self, dtype=None, copy=None):
        # As SciPy's: NumPy sees one object. toarray() makes a dense array.
        a = np.empty((), dtype=object)
        a[()] = self
        return a

    def copy(self):
        """A copy that shares no memory."""
        return self._wrap(self._rows().copy())

    def astype(self, dtype, casting="unsafe", copy=True):
        """With values of another type: float32 or float64 (integers and booleans become float64)."""
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} according to the rule {casting!r}")
        dtype = value_type(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        rows = self._rows()
        return self._wrap(rows._with_data(rows.data.astype(dtype)))

    def transpose(self, axes=None, copy=False):
        """The transposed array; of CSR a CSC array that shares its memory, and the other way round."""
        if axes not in (None, (1, 0), (0,)):
            raise ValueError("Sparse arrays do not support an 'axes' parameter because swapping dimensions is the only logical permutation.")
        return self.tocsr().transpose(copy=copy)

    def reshape(self, *shape, order="C", copy=False):
        """With other sizes and the same number of elements."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        if tuple(shape) == self.shape:
            return self.copy() if copy else self
        made = self.tocoo(copy=False).reshape(shape, order=order, copy=copy)
        return made.asformat(self.format if made.ndim == 2 else "csr")

    # Products.
    def __matmul__(self, other):
        return self.tocsr() @ other

    def __rmatmul__(self, other):
        if is_scalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if is_sparse(other):
            from ._csr import csr_array

            return csr_array(other) @ self
        other = device_array(other) if is_device(other) else np.asarray(other)
        if other.dtype == object:
            return NotImplemented
        if self.ndim == 1:
            return self @ other.T
        return (self.T @ other.T).T

    def dot(self, other):
        """The product with a scalar, a vector or a matrix."""
        return self * other if is_scalar(other) else self @ other

    # For scipy.sparse.linalg.aslinearoperator.
    def matvec(self, x, out=None):
        """A x, into `out` if there is one: an array of the result's shape and type, where A lives."""
        return self @ x if out is None else self._rows()._multiplied_into(x, out, self._by_columns)

    matmat = matvec

    def rmatvec(self, x, out=None):
        """A^T x, likewise."""
        return self.T @ x if out is None else self._rows()._multiplied_into(x, out, not self._by_columns)

    rmatmat = rmatvec

    def trace(self, offset=0):
        """The sum of a diagonal."""
        diagonal = self.diagonal(k=offset)
        return diagonal.get().sum() if self._on_device else diagonal.sum()

    def diagonal(self, k=0):
        """The k-th diagonal; those above the main one are positive."""
        rows, cols = self.shape
        if k <= -rows or k >= cols:
            empty = np.empty(0, dtype=self.dtype)
            return device_array(empty, self.device) if self._on_device else empty
        a = self._rows()
        k = -k if self._by_columns else k
        if k:
            first_row, first_col = max(-k, 0), max(k, 0)
            a = a._taken((first_row, a.shape[0]), (first_col, a.shape[1]))
        return _lacuna.diagonal(a)

    def nonzero(self):
        """Rows and columns of the elements that are not 0."""
        a = self.tocsr()._merged()
        keep = a.data[: a.nnz] != 0
        return tuple(c[keep] for c in (a._coordinates() if self.ndim == 2 else a._coordinates()[-1:]))

    # A picture of it.
    def __repr__(self):
        return f"<lacuna.{type(self).__name__}: {self._describe()}>"

    def _describe(self):
        sizes = " x ".join(str(n) for n in self.shape)
        return f"{sizes}, {self.nnz} entries, {self.dtype}, {self._storage()}{f', {self.device}' if self._on_device else ''}"

    def __str__(self):
        if self._on_device:
            return repr(self)
        coo = self.tocoo(copy=False)
        shown = 25
        lines = [f"  ({', '.join(str(int(c[k])) for c in coo.coords)})\t{coo.data[k]}" for k in range(min(coo.nnz, shown))]
        if coo.nnz > shown:
            lines.append(f"  ... {coo.nnz - shown} more")
        return "\n".join([repr(self), *lines])

    def _repr_html_(self):
        if self._on_device:
            return f"<code>lacuna.{type(self).__name__}</code>: {self._describe()}"
        from ._picture import as_html

        return as_html(self)
