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


COMPLEX = "complex values, which Lacuna refuses, are part of it"
TYPES = "integers and booleans are held as float64, float16 as float32"
FORMATS = "it converts to bsr, dia, dok or lil"
ASSIGNMENT = "elements of a dynamic_array are assigned to, not those of other formats"
TEXT = "repr and str are not SciPy's"
CLASSES = "scipy.sparse.linalg's expm and inv, and splu, take SciPy's classes alone"
NOT_APPLICABLE = {
    COMPLEX: "lt gt le ge real imag from_array from_matrix from_list from_sparse astype astype_immutable "
             "elementwise_multiply elementwise_divide add_sub mu maximum_minimum",
    TYPES: "minmax dtype_preservation dtype_preservation_empty_slice dtype_preservation_empty_index bool_rollover "
           "eq ne empty_arithmetic neg numpy_sum todense toarray pow constructor6 dtype_check constructor_data_ij_dtypeNone",
    FORMATS: "sparse_format_conversions tobsr size_zero_conversions constructor1_base todia_all_zeros todok_duplicates",
    TEXT: "repr str str_maxprint",
    CLASSES: "expm inv solve",
}
ASSIGNED = ("fancy_assign_ndarray fancy_indexing_multidim_set fancy_assign_list fancy_assign_slice bad_index_assign "
            "fancy_indexing_set fancy_assignment_dtypes sequence_assignment fancy_assign_empty fancy_indexing_seq_assign "
            "fancy_indexing_2d_assign slice_scalar_assign slice_assign_2 self_self_assignment slice_assignment "
            "sparsity_modifying_assignment set_slice assign_empty assign_1d_slice setelement negative_index_assignment "
            "scalar_assign_2 index_scalar_assign setdiag setdiag_comprehensive setdiag_noconvert setdiag_cooconvert "
            "setdiag_noncanonical setitem_sparse")


@pytest.fixture(autouse=True)
def applicable(request):
    name = request.node.originalname.removeprefix("test_")
    for reason, names in NOT_APPLICABLE.items():
        if name in names.split():
            pytest.skip(reason)
    if name in ASSIGNED.split() and request.cls is not TestDynamic:
        pytest.skip(ASSIGNMENT)


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
