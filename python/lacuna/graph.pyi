"""Types of lacuna.graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import csr_array

def closure(A: Any, *, reflexive: bool = False) -> csr_array: ...
def reverse_cuthill_mckee(A: Any) -> NDArray[np.int32] | NDArray[np.int64]: ...
