"""The pictures of docs/python.md: python gallery.py FOLDER. Needs matplotlib."""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import lacuna

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def save(name, figure):
    figure.tight_layout()
    figure.savefig(folder / name, dpi=60, pil_kwargs={"optimize": True})
    plt.close(figure)


def spy():
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    A = lacuna.generate("circuit:n=3000")
    p = lacuna.graph.reverse_cuthill_mckee(A)
    for ax, matrix, title in zip(axes, (A, A[p][:, p], A @ A), ("a circuit", "reordered", "its square")):
        lacuna.spy(matrix, ax, cells=200).set_title(f"{title}, {matrix.nnz} entries")
        ax.set_xticks([])
        ax.set_yticks([])
    save("python-spy.png", figure)


def convergence():
    A = lacuna.generate("poisson2d:n=200")
    b = np.random.default_rng(1).random(A.shape[0])
    figure, ax = plt.subplots(figsize=(6, 3.2))
    for name, M in (("none", None), ("jacobi", lacuna.linalg.jacobi(A)), ("ic0", lacuna.linalg.ic0(A)), ("amg", lacuna.linalg.amg(A))):
        norms = []
        lacuna.linalg.cg(A, b, rtol=1e-8, M=M, callback=lambda x: norms.append(np.linalg.norm(b - A @ x)))
        ax.semilogy(np.array(norms) / np.linalg.norm(b), label=name)
    ax.set_xlabel("iterations of CG")
    ax.set_ylabel("relative residual")
    ax.legend(title="preconditioner")
    save("python-cg.png", figure)


def heat():
    n = 100
    A = -lacuna.generate(f"poisson2d:n={n}")
    u = np.zeros((n, n))
    u[40:60, 20:30] = u[20:30, 60:90] = 1
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.2))
    for ax, t in zip(axes, (0, 10, 100)):
        ax.imshow(lacuna.linalg.expm_multiply(t * A, u.ravel()).reshape(n, n), cmap="magma")
        ax.set_title(f"t = {t}")
        ax.axis("off")
    save("python-heat.png", figure)


spy()
convergence()
heat()
