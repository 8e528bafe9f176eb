"""SciPy's own tests of its sparse arrays (scipy.sparse.tests.test_base), pointed at ours.

    pytest scipy_suite.py

Values that are drawn are float32 and float64, the types that Lacuna holds. What is not applicable is
skipped here by name, with its reason; docs/python.md has the counts.
"""

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("scipy.sparse.tests.test_base")
import scipy.sparse.tests.test_base as base

import lacuna

base.supported_dtypes = [np.float32, np.float64]
base.issparse = lambda x: scipy.sparse.issparse(x) or isinstance(x, lacuna.sparse_array)
base.sparray = (scipy.sparse.sparray, lacuna.sparse_array)


class ours:
    math_dtypes = [np.float32, np.float64]
    csr_container, csc_container, coo_container = lacuna.csr_array, lacuna.csc_array, lacuna.coo_array


class TestCSR(ours, base.TestCSR):
    spcreator = lacuna.csr_array


class TestCSC(ours, base.TestCSC):
    spcreator = lacuna.csc_array


class TestCOO(ours, base.TestCOO):
    spcreator = lacuna.coo_array


class TestDynamic(ours, base.sparse_test_class()):
    spcreator = lacuna.dynamic_array


class _NonCanonical:
    def _insert_explicit_zero(self, M, i, j):
        zero = lacuna.coo_array(([0.0], ([i], [j])), shape=M.shape)
        return (M + zero).asformat(M.format)


class TestCSRNonCanonical(_NonCanonical, base._NonCanonicalCSMixin, TestCSR):
    pass


class TestCSCNonCanonical(_NonCanonical, base._NonCanonicalCSMixin, TestCSC):
    pass


class TestCOONonCanonical(base.COONonCanonicalMixin, TestCOO):
    pass


for cls in (TestCSR, TestCSC, TestCOO, TestDynamic):
    cls.init_class()
