"""Every Matrix Market file of a folder, read by Lacuna and by SciPy: the same sizes, entries and bits.

usage: against_scipy.py LACUNA FOLDER      exit 77: skipped, for want of SciPy or of the folder
"""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import scipy.io
    import scipy.sparse as sp
except ImportError:
    print("skipped: this Python has no SciPy")
    sys.exit(77)

lacuna, folder = sys.argv[1:3]
files = sorted(glob.glob(os.path.join(folder, "*.mtx*")))
if not files:
    print("skipped: no matrices in", folder)
    sys.exit(77)


def rows_of(a):
    """Sorted, with duplicates summed in the order of the file, as doubles."""
    a = sp.csr_array(a.real if np.iscomplexobj(a) else a)
    a.sum_duplicates()
    return a.astype(np.float64)


def same(a, b):
    return (
        a.shape == b.shape
        and np.array_equal(a.indptr, b.indptr)
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(a.data.view(np.int64), b.data.view(np.int64))
    )


wrong = []
with tempfile.TemporaryDirectory() as scratch:
    for file in files:
        expected = rows_of(scipy.io.mmread(file))
        # Every format that SciPy reads; .npz is Lacuna's reading as it is, for which large files count.
        for ending in (".npz", ".mtx", ".mat") if expected.nnz < 30_000 else (".npz",):
            out = os.path.join(scratch, "a" + ending)
            command = [lacuna, "--quiet", "convert", file, "-o", out, "--complex", "real"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                wrong.append(f"{file}: {done.stderr.strip()}")
                continue
            if ending == ".npz":
                got = sp.load_npz(out)
            elif ending == ".mat":
                got = scipy.io.loadmat(out)["A"]
            else:
                got = scipy.io.mmread(out)
            if not same(expected, rows_of(got)):
                wrong.append(f"{file}: differs by way of {ending}")
print(*wrong, sep="\n")
print(f"{len(files)} files, {len(wrong)} differences")
sys.exit(1 if wrong else 0)
