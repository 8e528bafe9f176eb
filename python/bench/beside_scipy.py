"""Lacuna beside SciPy on this machine: seconds of A @ x, A.T @ x, A @ B and A + B, least of several
rounds in which the two take turns; and what a call costs above the C++ library's.

    python beside_scipy.py [--quick]
"""

import math
import statistics
import sys
import time

import numpy as np

import lacuna

QUICK = "--quick" in sys.argv
MATRICES = [
    "poisson2d:n=300", "poisson3d:n=40", "elasticity3d:n=12", "circuit:n=60000", "rmat:scale=13",
    "uniform:rows=60000,cols=60000,per_row=12", "banded:n=60000,half_bandwidth=8",
] if QUICK else [
    "poisson2d:n=1000", "poisson3d:n=100", "elasticity3d:n=28", "circuit:n=300000", "rmat:scale=13",
    "uniform:rows=400000,cols=400000,per_row=16", "banded:n=400000,half_bandwidth=10",
]


def least(functions, seconds):
    """The least time of each, taking turns for so long."""
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for k, f in enumerate(functions):
            began = time.perf_counter()
            f()
            best[k] = min(best[k], time.perf_counter() - began)
        rounds += 1
    return best


def main():
    seconds = 0.3 if QUICK else 1.0
    ratios = {}
    print(f"{lacuna.get_threads()} threads, {lacuna._lacuna.simd_target()}")
    print(f"{'matrix':44}" + "".join(f"{name:>22}" for name in ("A @ x", "A.T @ x", "A @ B", "A + B")))
    for spec in MATRICES:
        A = lacuna.generate(spec)
        S = A.toscipy()
        x, z = np.ones(A.shape[1]), np.ones(A.shape[0])
        # A second pattern: the transpose, shifted by a row.
        B = lacuna.csr_array(A.T)[np.roll(np.arange(A.shape[0]), 1)]
        B.sum_duplicates()
        T = B.toscipy()
        S.has_canonical_format, T.has_canonical_format
        pairs = {
            "A @ x": (lambda: A @ x, lambda: S @ x),
            "A.T @ x": (lambda: A.T @ z, lambda: S.T @ z),
            "A @ B": (lambda: A @ B, lambda: S @ T),
            "A + B": (lambda: A + B, lambda: S + T),
        }
        line = f"{spec:44}"
        for name, functions in pairs.items():
            ours, theirs = least(functions, seconds)
            ratios.setdefault(name, []).append(theirs / ours)
            line += f"{1e3 * ours:9.2f} ms {theirs / ours:6.2f} x "
        print(line, flush=True)
    means = {name: statistics.geometric_mean(r) for name, r in ratios.items()}
    print(f"{'geometric mean':44}" + "".join(f"{m:19.2f} x " for m in means.values()))

    tiny = lacuna.generate("tridiagonal:n=3")
    theirs, v = tiny.toscipy(), np.ones(3)
    loops = 20000

    def each(f):
        def run():
            for _ in range(loops):
                f()
        return run

    ours, scipys, nothing = least([each(lambda: tiny @ v), each(lambda: theirs @ v), each(lambda: None)], 1)
    print(f"A @ x of 3 x 3: {1e6 * (ours - nothing) / loops:.2f} us a call, SciPy {1e6 * (scipys - nothing) / loops:.2f} us")


main()
