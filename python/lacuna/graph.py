"""Graphs: an entry (i, j) is an edge from i to j."""

from __future__ import annotations

from . import _lacuna
from ._csr import csr_array


def closure(A, *, reflexive=False):
    """Which vertices can be reached from which, by paths of one or more edges.

    Parameters
    ----------
    A : sparse array
        Square; values do not matter.
    reflexive : bool, optional
        Whether every vertex reaches itself, too.

    Examples
    --------
    >>> import lacuna
    >>> A = lacuna.csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> lacuna.graph.closure(A).toarray()
    array([[0., 1., 1.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """
    return csr_array._made(_lacuna.closure(csr_array(A), reflexive))


def reverse_cuthill_mckee(A):
    """The order of Cuthill and McKee, reversed, as a permutation for ``A[p][:, p]``.

    Examples
    --------
    >>> import lacuna
    >>> p = lacuna.graph.reverse_cuthill_mckee(lacuna.generate("tridiagonal:n=5"))
    >>> sorted(p.tolist())
    [0, 1, 2, 3, 4]
    """
    return _lacuna.reverse_cuthill_mckee(csr_array(A))
