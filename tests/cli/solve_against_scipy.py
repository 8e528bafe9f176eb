"""Every symmetric matrix of a folder whose diagonal has one sign, as a system that `lacuna solve` may
solve as it likes: x is right by SciPy's residual, or there is a reason.

usage: solve_against_scipy.py LACUNA FOLDER [--table]     exit 77: skipped, for want of SciPy or of the folder
--table prints rows for docs/solvers.md.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import scipy.io
    import scipy.sparse as sp
except ImportError:
    print("skipped: this Python has no SciPy")
    sys.exit(77)

lacuna, folder = sys.argv[1:3]
table = "--table" in sys.argv
files = sorted(glob.glob(os.path.join(folder, "*.mtx*")), key=str.lower)
if not files:
    print("skipped: no matrices in", folder)
    sys.exit(77)
warnings.filterwarnings("ignore")
tolerance = 1e-8
reasons = {
    "iteration_limit", "time_limit", "stagnation", "breakdown_rho", "breakdown_omega", "breakdown_pivot",
    "indefinite", "precision_limit",
}


def system_of(file):
    """The matrix, or None if it is no such system."""
    rows, cols, _, kind, field, _ = scipy.io.mminfo(file)
    if rows != cols or kind == "array" or field not in ("real", "integer"):
        return None
    a = sp.csr_array(scipy.io.mmread(file)).astype(np.float64)
    d = a.diagonal()
    one_sign = np.all(d > 0) or np.all(d < 0)
    return a if one_sign and abs(a - a.T).max() <= 1e-12 * abs(a).max() else None


wrong, solved, count = [], 0, 0
with tempfile.TemporaryDirectory() as scratch:
    right, left = os.path.join(scratch, "b.npy"), os.path.join(scratch, "x.mtx")
    for file in files:
        a = system_of(file)
        if a is None:
            continue
        count += 1
        name = os.path.basename(file).split(".")[0]
        b = np.random.default_rng(1).uniform(-1, 1, a.shape[0])
        np.save(right, b)
        command = [lacuna, "--json", "solve", file, "-b", right, "-o", left, "--tol", str(tolerance)]
        quiet_threads = dict(os.environ, OMP_WAIT_POLICY="passive")
        done = subprocess.run(command, capture_output=True, text=True, env=quiet_threads)
        if done.returncode not in (0, 1):
            wrong.append(f"{name}: exit {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}")
            continue
        report = json.loads(done.stdout)
        residual = None
        if done.returncode == 0:
            residual = np.linalg.norm(b - a @ np.asarray(scipy.io.mmread(left)).ravel()) / np.linalg.norm(b)
            solved += 1
            if not residual <= 1.01 * tolerance:
                wrong.append(f"{name}: SciPy's residual is {residual}, told was {report['relative_residual']}")
        elif report["reason"] not in reasons:
            wrong.append(f"{name}: not solved, and the reason is {report['reason']}")
        if table:
            shown = "-" if residual is None else f"{residual:.1e}"
            print(f"| {name} | {a.shape[0]} | {report['method']} | {report['preconditioner']} | "
                  f"{report['iterations']} | {shown} | {report['reason']} |", flush=True)
for line in wrong:
    print(line)
print(f"{count} systems: {solved} solved, {count - solved} with a reason, {len(wrong)} wrong")
sys.exit(1 if wrong else 0)
