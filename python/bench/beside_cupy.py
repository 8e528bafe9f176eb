"""Lacuna beside CuPy (cuSPARSE) and PyTorch on a GPU: the same arrays, three libraries' calls, in
milliseconds a call; medians of queues of calls that take turns, results and workspace allocated in every call.

    python beside_cupy.py [--quick]
"""

import statistics
import sys
import time
import warnings

import cupy
import cupyx.scipy.sparse
import numpy as np

import lacuna

try:
    import torch
except ImportError:
    torch = None

QUICK = "--quick" in sys.argv
warnings.filterwarnings("ignore", module="torch")  # its sparse tensors are in beta
warnings.filterwarnings("ignore", message=".*[Ss]parse")
MATRICES = [
    "poisson2d:n=300", "fem3d:n=12,dof=3", "rmat:scale=13,edges=8",
] if QUICK else [
    "poisson2d:n=1500", "poisson3d:n=128", "fem3d:n=40,dof=3", "circuit:n=1000000", "rmat:scale=17,edges=8",
    "uniform:rows=1000000,cols=1000000,per_row=8", "banded:n=1000000,half_bandwidth=10",
]


def medians(functions, seconds):
    """Of queues of calls that last some milliseconds; a function that is None has no time."""
    queues, times = [], [[] for _ in functions]
    for f in functions:
        if f is None:
            queues.append(0)
            continue
        f()
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        f()
        cupy.cuda.Device().synchronize()
        queues.append(int(np.clip(0.004 / (time.perf_counter() - began), 1, 30)))
    end = time.perf_counter() + seconds
    while len(times[0]) < 3 or time.perf_counter() < end:
        for k, f in enumerate(functions):
            if f is None:
                continue
            began = time.perf_counter()
            for _ in range(queues[k]):
                f()
            cupy.cuda.Device().synchronize()
            times[k].append((time.perf_counter() - began) / queues[k])
    return [statistics.median(t) if t else None for t in times]


def as_torch(A):
    """PyTorch's matrix over the same values; indices of 64 bits, as its products want them, are copies."""
    if torch is None:
        return None
    pointers, columns = (torch.from_dlpack(a).to(torch.int64) for a in (A.indptr, A.indices))
    return torch.sparse_csr_tensor(pointers, columns, torch.from_dlpack(A.data), size=A.shape)


def main():
    seconds = 0.1 if QUICK else 0.4
    ratios = {}
    names = ("A @ x", "A @ X, 8", "A.T @ x", "A @ A", "A + B")
    print(f"CuPy {cupy.__version__}" + (f", PyTorch {torch.__version__}" if torch is not None else "") + "; ms, over CuPy, over PyTorch")
    print(f"{'matrix':40}" + "".join(f"{name:>26}" for name in names))
    for spec in MATRICES:
        A = lacuna.generate(spec).to("cuda")
        n = A.shape[1]
        theirs = cupyx.scipy.sparse.csr_matrix(tuple(cupy.asarray(a) for a in (A.data, A.indices, A.indptr)), shape=A.shape)
        theirs.has_canonical_format = True
        B, D = A[np.roll(np.arange(A.shape[0]), 1)], theirs[cupy.roll(cupy.arange(A.shape[0]), 1)]
        T = as_torch(A)
        x, X = cupy.ones(n), cupy.ones((n, 8))
        v, V = (torch.from_dlpack(a) for a in (x, X)) if torch is not None else (None, None)
        have = torch is not None
        calls = {
            "A @ x": (lambda: A @ x, lambda: theirs @ x, (lambda: T @ v) if have else None),
            "A @ X, 8": (lambda: A @ X, lambda: theirs @ X, (lambda: T @ V) if have else None),
            "A.T @ x": (lambda: A.T @ x, lambda: theirs.T @ x, None),
            "A @ A": (lambda: A @ A, lambda: theirs @ theirs, None),
            "A + B": (lambda: A + B, lambda: theirs + D, None),
        }
        line = f"{spec:40}"
        for name, functions in calls.items():
            try:
                ours, cupys, torchs = medians(functions, seconds)
            except Exception as e:  # a peer may run out of memory
                line += f"{type(e).__name__:>26}"
                continue
            ratios.setdefault((name, 0), []).append(cupys / ours)
            if torchs is not None:
                ratios.setdefault((name, 1), []).append(torchs / ours)
            line += f"{1e3 * ours:12.3f} {cupys / ours:6.2f}" + (f" {torchs / ours:6.2f}" if torchs is not None else " " * 7)
        print(line, flush=True)
    line = f"{'geometric mean':40}"
    for name in names:
        for k in (0, 1):
            r = ratios.get((name, k))
            line += " " * (13 if k == 0 else 0) + (f"{statistics.geometric_mean(r):6.2f}" if r else " " * 6) + (" " if k == 0 else "")
    print(line)


main()
