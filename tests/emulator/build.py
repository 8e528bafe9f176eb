#!/usr/bin/env python3
"""Builds build/emulated/liblacuna.so, whose device code runs on the CPU.

usage: build.py      after target lacuna of build/check, whose host objects are linked

The sources of src/gpu are transformed into build/emulated/src; ninja compiles what has changed and links.
"""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from transform import TransformError, transform

EMULATOR = Path(__file__).resolve().parent
TREE = EMULATOR.parents[1]
CHECK = TREE / "build/check"
OUT = TREE / "build/emulated"

# Products and sums are contracted as nvcc does. Optimised, as device threads have stacks of 64 KB.
FLAGS = """-std=c++20 -O1 -g1 -fPIC -mfma -ffp-contract=fast -fno-strict-aliasing -fno-semantic-interposition
  -fvisibility=hidden -fvisibility-inlines-hidden -DNDEBUG -w -fmax-errors=8"""


def write_if_changed(path, text):
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def transform_sources():
    """The .cu files of build/emulated/src, the largest first; what src/gpu no longer has goes."""
    written = set()
    for path in sorted((TREE / "src/gpu").rglob("*.cu*")):
        target = OUT / path.relative_to(TREE)
        write_if_changed(target, transform(path.read_text(), str(path)))
        written.add(target)
    for path in (OUT / "src").rglob("*.cu*"):
        if path not in written:
            path.unlink()
    sources = [path for path in written if path.suffix == ".cu"]
    return sorted(sources, key=lambda path: (-path.stat().st_size, path))


def link_of_check():
    """Soname, host objects and libraries of the liblacuna.so in build/check, from its build.ninja."""
    text = (CHECK / "build.ninja").read_text()
    m = re.search(r"^build src/liblacuna\.so\S*: \S*LINKER__lacuna_\S+ ([^|\n]*).*\n((?:  .*\n)+)", text, re.M)
    if not m:
        sys.exit("emulator: build/check has no shared liblacuna")
    variables = dict(re.findall(r"^  (\w+) = (.*)$", m.group(2), re.M))
    objects = [CHECK / name for name in m.group(1).split() if not name.endswith((".cu.o", "cmake_device_link.o"))]
    libraries = [word for word in shlex.split(variables["LINK_LIBRARIES"]) if not re.search("cudart|cudadevrt", word)]
    return variables["SONAME"], objects, libraries


def ninja_path(path):
    return re.sub(r"([$ :])", r"$\1", str(path))


def ninja_file(sources):
    """The text of build/emulated/build.ninja, and the library that it makes."""
    soname, objects, libraries = link_of_check()
    includes = [EMULATOR / "include", OUT / "src", TREE / "include", CHECK / "include", TREE / "src"]
    flags = " ".join(FLAGS.split() + [shlex.quote(f"-I{folder}") for folder in includes])
    flags += " " + os.environ.get("LACUNA_EMULATOR_CXXFLAGS", "")
    lines = [
        "rule compile",
        f"  command = g++ {flags} $more -MD -MF $out.d -x c++ -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "  description = $in",
        "rule link",  # libraries of the build's own are named from its folder
        f"  command = cd {shlex.quote(str(CHECK))} && g++ -shared -Wl,-soname,{soname} -Wl,--gc-sections -o $out "
        f"@$out.objects {shlex.join(libraries)} -ldl -lpthread",
        "  rspfile = $out.objects",
        "  rspfile_content = $in",
        "  description = $out",
    ]
    for source in sources + sorted(EMULATOR.glob("*.cpp")):
        folder = EMULATOR if source.suffix == ".cpp" else OUT
        made = OUT / "objects" / source.relative_to(folder).with_suffix(".o")
        objects.append(made)
        lines.append(f"build {ninja_path(made)}: compile {ninja_path(source)}")
        lines.append("  more = -O2" if source.suffix == ".cpp" else "  more = -include cuda_runtime.hpp")
    library = OUT / "liblacuna.so"
    lines.append(f"build {ninja_path(library)}: link {' '.join(ninja_path(made) for made in objects)}")
    return "\n".join(lines) + "\n", library


def main():
    try:
        text, library = ninja_file(transform_sources())
    except TransformError as error:
        sys.exit(f"emulator: {error}")
    write_if_changed(OUT / "build.ninja", text)
    return subprocess.run(["ninja", "-C", OUT, "-j", str(os.cpu_count()), library], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
