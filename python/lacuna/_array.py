"""What all sparse arrays of Lacuna have in common.

Operations are those of the C++ library on CSR arrays: `_rows()` is the CSR array that an operation
works on (of a CSC array its transpose, whose arrays are the same), `_wrap()` the way back.
"""

from __future__ import annotations

import operator

import numpy as np

from . import _lacuna
from ._inputs import is_scalar, is_sparse, value_type


class sparse_array:
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
        axis = _checked_axis(axis, self.ndim)
        rows = self._rows()
        if self.ndim == 1:
            return self.nnz
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
        """As a dense NumPy array; duplicates are added up.

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
        other = np.asarray(other)
        if other.dtype == object:
            return NotImplemented
        if self.ndim == 1:
            return self @ other.T
        return (self.T @ other.T).T

    def dot(self, other):
        """The product with a scalar, a vector or a matrix."""
        return self * other if is_scalar(other) else self @ other

    # For scipy.sparse.linalg.aslinearoperator.
    def matvec(self, x):
        """A x."""
        return self @ x

    matmat = matvec

    def rmatvec(self, x):
        """A^T x."""
        return self.T @ x

    rmatmat = rmatvec

    # Sums and products, element by element.
    def _aligned(self, other):
        """`other`, a sparse array, as rows like _rows()."""
        from ._csr import csc_array, csr_array

        return csc_array(other)._rows() if self._by_columns else csr_array(other)

    def _plus(self, other, alpha, beta):
        if is_scalar(other):
            if other == 0:
                return self._wrap(self._rows()._scaled(alpha))
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        if is_sparse(other):
            if other.shape != self.shape:
                raise ValueError(f"inconsistent shapes, {self.shape} and {other.shape}")
            return self._wrap(self._rows()._added(self._aligned(other), alpha, beta))
        if not _is_dense(other):
            return NotImplemented
        return alpha * self.toarray() + beta * np.asarray(other)

    def __add__(self, other):
        return self._plus(other, 1.0, 1.0)

    __radd__ = __add__

    def __sub__(self, other):
        return self._plus(other, 1.0, -1.0)

    def __rsub__(self, other):
        return self._plus(other, -1.0, 1.0)

    def multiply(self, other):
        """Element by element, with NumPy's broadcasting; the result is sparse."""
        if is_scalar(other):
            return self._wrap(self._rows()._scaled(other))
        if is_sparse(other):
            a, b = _broadcast(self, other)
            return a._wrap(a._rows()._combined(a._aligned(b), "stored_times"))
        other = np.asarray(other)
        if other.dtype == object:
            return NotImplemented
        return self._times_dense(other)

    def _times_dense(self, other):
        a, b = (self, other) if other.ndim <= 2 else (None, None)
        if a is None:
            raise ValueError("inconsistent shapes")
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise ValueError(f"inconsistent shapes, {a.shape} and {b.shape}") from None
        a = a._broadcast_to(shape).tocsr()._merged()
        b = np.broadcast_to(b, shape)
        i, j = a._coordinates() if len(shape) == 2 else (None, a._coordinates()[0])
        return a._with_data(a.data[: a.nnz] * (b[j] if i is None else b[i, j]))

    def __mul__(self, other):
        if not (is_scalar(other) or is_sparse(other) or _is_dense(other)):
            return NotImplemented
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if is_scalar(other):
            rows = self._rows()
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._wrap(rows._with_data(rows.data / rows.dtype.type(other)
                                                  if np.isrealobj(other) else rows._scaled(1 / other)))
        if is_sparse(other):
            from ._csr import csr_array

            if other.shape != self.shape:
                raise ValueError(f"inconsistent shapes, {self.shape} and {other.shape}")
            with np.errstate(divide="ignore", invalid="ignore"):
                return csr_array(self.toarray() / other.toarray())
        if not _is_dense(other):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.multiply(1.0 / np.asarray(other))

    def __rtruediv__(self, other):
        return NotImplemented

    def __neg__(self):
        return self._wrap(self._rows()._scaled(-1.0))

    def __pos__(self):
        return self.copy()

    def __abs__(self):
        return self._map(np.abs)

    def __round__(self, ndigits=0):
        return self._map(lambda v: np.around(v, ndigits))

    def power(self, n, dtype=None):
        """Each element to the power of `n`, which is not 0 or negative (those would fill the array)."""
        if not is_scalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the matrix.\nUse `np.ones(A.shape, dtype=A.dtype)` for this case.")
        made = self._map(lambda v: v**n)
        return made if dtype is None else made.astype(dtype)

    def __pow__(self, n):
        return self.power(n) if is_scalar(n) else NotImplemented

    def _map(self, f):
        """f of each element, where f(0) is 0."""
        rows = self._rows()._merged()
        return self._wrap(rows._with_data(f(rows.data[: rows.nnz]).astype(rows.dtype, copy=False)))

    def maximum(self, other):
        """Element by element, the larger one."""
        return self._extreme_of(other, np.maximum, "maximum")

    def minimum(self, other):
        """Element by element, the smaller one."""
        return self._extreme_of(other, np.minimum, "minimum")

    def _extreme_of(self, other, f, rule):
        from ._csr import csr_array

        if is_scalar(other):
            if self.dtype == np.float32 and np.result_type(self.dtype, other) == np.float64:
                return self.astype(np.float64)._extreme_of(other, f, rule)
            if f(0, other) == 0:
                return self._map(lambda v: f(v, other))
            return csr_array(f(self.toarray(), other))
        if is_sparse(other):
            if other.shape != self.shape:
                raise ValueError("inconsistent shapes")
            return self._wrap(self._rows()._combined(self._aligned(other), rule))
        return f(self.toarray(), np.asarray(other))

    # Comparisons: arrays with 1 where they hold.
    def _compared(self, other, op, name):
        if is_scalar(other):
            if np.isnan(other):
                return self._wrap(self._rows()._filled(name == "not_equal"))
            rows = self._rows()._merged()
            holds = op(rows.data[: rows.nnz], other)
            if not op(0, other):
                return self._wrap(rows._with_data(holds.astype(np.float64))._nonzero_entries())
            fails = rows._with_data((~holds).astype(np.float64))._nonzero_entries()
            return self._wrap(fails._complement())
        if is_sparse(other):
            if other.shape != self.shape:
                if name in ("equal", "not_equal"):
                    return name == "not_equal"
                raise ValueError("inconsistent shapes")
            return self._wrap(self._rows()._compared_with(self._aligned(other), name))
        if _is_dense(other):
            return op(self.toarray(), np.asarray(other))
        return NotImplemented

    def __eq__(self, other):
        made = self._compared(other, operator.eq, "equal")
        return False if made is NotImplemented and other is None else made

    def __ne__(self, other):
        made = self._compared(other, operator.ne, "not_equal")
        return True if made is NotImplemented and other is None else made

    def __lt__(self, other):
        return self._compared(other, operator.lt, "less")

    def __le__(self, other):
        return self._compared(other, operator.le, "less_equal")

    def __gt__(self, other):
        return self._compared(other, operator.gt, "greater")

    def __ge__(self, other):
        return self._compared(other, operator.ge, "greater_equal")

    # Sums and extremes by axis.
    def sum(self, axis=None, dtype=None, out=None):
        """The sum of all elements, or sums by `axis`: 0 adds rows up, 1 columns."""
        return self._reduced("sum", axis, dtype, out)

    def mean(self, axis=None, dtype=None, out=None):
        """The mean of all elements, or means by `axis`."""
        axis = _checked_axis(axis, self.ndim)
        count = int(np.prod(self.shape)) if axis is None else self.shape[axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            return _cast(np.divide(self._reduced("sum", axis, None, None), self.dtype.type(count)), dtype, out)

    def max(self, axis=None, out=None, *, explicit=False):
        """The largest element, or those by `axis`, as a sparse array; what is not stored is 0."""
        return self._extreme("max", axis, out, explicit)

    def min(self, axis=None, out=None, *, explicit=False):
        """The smallest element, or those by `axis`, as a sparse array."""
        return self._extreme("min", axis, out, explicit)

    def _reduced(self, what, axis, dtype, out):
        axis = _checked_axis(axis, self.ndim)
        return _cast(self._over(what, axis, self._rows()), dtype, out)

    def _over(self, what, axis, rows):
        """The library's reduction of all elements, or by an axis of ours."""
        if axis is None or self.ndim == 1:
            return _lacuna.reduce(rows, what, -1)[0]
        return _lacuna.reduce(rows, what, 1 - axis if self._by_columns else axis)

    def _extreme(self, what, axis, out, explicit):
        from ._csr import csr_array

        if out is not None:
            raise ValueError("Sparse arrays do not support an 'out' parameter.")
        axis = _checked_axis(axis, self.ndim)
        if (0 in self.shape) if axis is None else (self.shape[axis] == 0):
            raise ValueError("zero-size array to reduction operation")
        rows = self._rows()
        if explicit:
            return self._explicit_extreme(what, axis, rows._merged())
        made = self._over(what, axis, rows)
        return made if np.isscalar(made) else csr_array(made)

    def _explicit_extreme(self, what, axis, rows):
        """Of stored entries alone; 0 where there are none."""
        from ._csr import csr_array

        f = np.maximum if what == "max" else np.minimum
        if axis is None or self.ndim == 1:
            return f.reduce(rows.data[: rows.nnz]) if rows.nnz else self.dtype.type(0)
        rows = rows if (axis == 1) != self._by_columns else rows._transposed()
        filled = np.diff(rows.indptr) > 0
        found = np.zeros(len(filled), self.dtype)
        if filled.any():
            found[filled] = f.reduceat(rows.data[: rows.nnz], rows.indptr[:-1][filled])
        return csr_array(found)

    def trace(self, offset=0):
        """The sum of a diagonal."""
        return self.diagonal(k=offset).sum()

    def diagonal(self, k=0):
        """The k-th diagonal; those above the main one are positive."""
        rows, cols = self.shape
        if k <= -rows or k >= cols:
            return np.empty(0, dtype=self.dtype)
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
        return f"{sizes}, {self.nnz} entries, {self.dtype}, {self._storage()}"

    def __str__(self):
        coo = self.tocoo(copy=False)
        shown = 25
        lines = [f"  ({', '.join(str(int(c[k])) for c in coo.coords)})\t{coo.data[k]}" for k in range(min(coo.nnz, shown))]
        if coo.nnz > shown:
            lines.append(f"  ... {coo.nnz - shown} more")
        return "\n".join([repr(self), *lines])

    def _repr_html_(self):
        from ._picture import as_html

        return as_html(self)

    def _broadcast_to(self, shape):
        """With a dimension of 1 repeated to `shape`."""
        from ._csr import csr_array

        if self.shape == tuple(shape):
            return self
        a = self.tocsr()
        if len(shape) == 2 and a.ndim == 1:
            a = a._as_shape((1, a.shape[0]))
            if a.shape == tuple(shape):
                return a
        if np.broadcast_shapes(a.shape, shape) != tuple(shape):
            raise ValueError(f"inconsistent shapes, {self.shape} and {shape}")
        if a.ndim == 1:
            return csr_array(np.broadcast_to(a.toarray(), shape))
        m, n = a.shape
        if m == 1 and shape[0] != 1:
            a = a._taken(np.zeros(shape[0], dtype=np.int64), (0, n))
        if n == 1 and shape[1] != 1:
            column = a._transposed()._taken(np.zeros(shape[1], dtype=np.int64), (0, a.shape[0]))
            a = column._transposed()
        return a


# Functions of NumPy that are 0 at 0, as SciPy's arrays have them: np.sqrt(A) calls A.sqrt().
for _name in ("sin tan arcsin arctan sinh tanh arcsinh arctanh rint sign expm1 log1p "
              "deg2rad rad2deg floor ceil trunc sqrt").split():
    def _method(self, _f=getattr(np, _name)):
        return self._map(_f)

    _method.__name__ = _name
    _method.__doc__ = f"numpy.{_name} of each element."
    setattr(sparse_array, _name, _method)


def _is_dense(x):
    if isinstance(x, (np.ndarray, list, tuple)):
        return np.asarray(x).dtype != object
    return False


def _checked_axis(axis, ndim):
    if axis is None:
        return None
    if isinstance(axis, tuple):
        if len(axis) == 0:
            raise ValueError("axis must not be empty")
        if len(axis) == ndim and len({_checked_axis(a, ndim) for a in axis}) == ndim:
            return None
        if len(axis) > 1:
            raise ValueError("axis tuple has duplicate or too many dimensions")
        axis = axis[0]
    if not np.issubdtype(np.dtype(type(axis)), np.integer):
        raise TypeError(f"axis must be an integer, not {type(axis)}")
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis out of range: {axis} of {ndim} dimensions")
    return int(axis) % ndim


def _cast(made, dtype, out):
    if dtype is not None:
        made = np.asarray(made).astype(dtype)[()]
    if out is None:
        return made
    if out.shape != np.shape(made):
        raise ValueError(f"output parameter has wrong dimensions: {out.shape} instead of {np.shape(made)}")
    out[...] = made
    return out


def _broadcast(a, b):
    """Both as arrays of one shape: ours."""
    from ._csr import csr_array

    if not isinstance(b, sparse_array):
        b = csr_array(b)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"inconsistent shapes, {a.shape} and {b.shape}") from None
    return a._broadcast_to(shape), b._broadcast_to(shape)
