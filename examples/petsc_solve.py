"""A Poisson problem by petsc4py on Lacuna's kernels, on one rank or several:

    python3 petsc_solve.py liblacunapetsc.so
    mpirun -n 4 python3 petsc_solve.py liblacunapetsc.so -n 200 -pc_type bjacobi -sub_pc_type lacunaamg

What follows the library's path are PETSc's options. Prints method, iterations, residual and what
Lacuna did. Debian: python3-petsc4py.
"""
import sys

import petsc4py

if len(sys.argv) < 2:
    sys.exit(__doc__)
# The plug-in is loaded when PETSc starts; blocks of all matrices are Lacuna's from then on.
petsc4py.init(["petsc_solve.py", "-dll_append", sys.argv[1], "-mat_seqaij_type", "seqaijlacuna",
               "-lacuna_count"] + sys.argv[2:])
from petsc4py import PETSc  # noqa: E402

n = PETSc.Options().getInt("n", 100)  # grid points in each direction
a = PETSc.Mat().createAIJ(n * n, nnz=(5, 4))
begin, end = a.getOwnershipRange()
for row in range(begin, end):
    y, x = divmod(row, n)
    for col, inside in ((row - n, y > 0), (row - 1, x > 0), (row + 1, x < n - 1), (row + n, y < n - 1)):
        if inside:
            a[row, col] = -1.0
    a[row, row] = 4.0
a.assemble()

x, b = a.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(a)
ksp.setType("cg")
ksp.setTolerances(rtol=1e-8)
ksp.setFromOptions()
ksp.solve(b, x)
r = b - a * x
PETSc.Sys.Print(f"{ksp.getType()} with {ksp.getPC().getType()}: {ksp.getIterationNumber()} iterations, "
                f"relative residual {r.norm() / b.norm():.1e}")
sys.exit(0 if ksp.getConvergedReason() > 0 else 1)
