"""Arrays in blocks."""

from __future__ import annotations

import numpy as np

from . import _lacuna
from ._array import sparse_array
from ._csr import csr_array
from ._inputs import is_scalar, is_sparse


class block_array(sparse_array):
    """A tree of square blocks: multiplied with in both directions alike from one copy, transposed and
    scaled at no cost.

    Parameters
    ----------
    arg1, shape, dtype
        As of `csr_array`; entries are copied, duplicates added up.
    block : {16, 32, 64, 128, 256}, optional
        Rows and columns of a block.

    Examples
    --------
    >>> import numpy as np, lacuna
    >>> A = lacuna.block_array([[1.0, 2.0], [0.0, 3.0]])
    >>> A @ np.ones(2), A.T @ np.ones(2)
    (array([3., 3.]), array([1., 5.]))
    >>> (2 * A + A.T).toarray()
    array([[3., 4.],
           [2., 9.]])
    """

    format = "block"

    def __init__(self, arg1, shape=None, dtype=None, copy=True, block=128):
        rows = csr_array(arg1, shape=shape, dtype=dtype)
        if rows.ndim != 2:
            raise ValueError("block_array has two dimensions")
        self._take(_lacuna.to_block_tree(rows, block), rows.shape, rows.dtype)

    def _take(self, made, shape, dtype):
        self._made, self._shape, self._dtype = made, tuple(shape), dtype
        return self

    def _of(self, made, shape=None):
        """Another tree of the same type."""
        return object.__new__(block_array)._take(made, self._shape if shape is None else shape, self._dtype)

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
        """Bytes of nodes and lists; arrays that share them each count all."""
        return self._made.nbytes

    @property
    def block(self):
        """Rows and columns of a block."""
        return self._made.block

    def _storage(self):
        return f"blocks of {self.block}, {self.nbytes} bytes"

    def __reduce__(self):
        return block_array, (self.tocsr(), None, None, True, self.block)

    def tocsr(self, copy=False):
        """A copy as a `csr_array`."""
        return csr_array._made(self._made.to_csr())

    def copy(self):
        """Another array of the same nodes, which are never changed."""
        return self._of(self._made)

    def transpose(self, axes=None, copy=False):
        """The transpose over the same nodes."""
        if axes not in (None, (1, 0)):
            raise ValueError("Sparse arrays do not support an 'axes' parameter because swapping dimensions is the only logical permutation.")
        return self._of(self._made.transposed(), self._shape[::-1])

    def __matmul__(self, other):
        if not (is_scalar(other) or is_sparse(other)):
            x = np.asarray(other)
            if x.dtype.kind in "fiub" and x.ndim in (1, 2) and np.result_type(x.dtype, self._dtype) == self._dtype:
                return self._made.multiply_dense(np.ascontiguousarray(x, dtype=self._dtype))
        return self.tocsr()._product(other)

    def multiply(self, other):
        """Element by element; a number costs nothing."""
        if is_scalar(other) and np.isrealobj(other) and np.result_type(self._dtype, other) == self._dtype:
            return self._of(self._made.scaled(float(other)))
        return super().multiply(other)

    def __neg__(self):
        return self._of(self._made.scaled(-1.0))

    def _plus(self, other, alpha, beta):
        if isinstance(other, block_array) and other._shape == self._shape and other._dtype == self._dtype \
                and other.block == self.block:
            return self._of(self._made.plus(other._made, alpha, beta))
        return super()._plus(other, alpha, beta)

    def __getitem__(self, key):
        return self.tocsr()[key]
