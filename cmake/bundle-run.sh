#!/usr/bin/env bash
# Runs the GPU battery, compute-sanitizer if it is installed, and the benchmarks beside cuSPARSE.
#   ./run [tests|sanitize|bench|all]     (default: tests and bench)
set -uo pipefail
cd "$(dirname "$0")"
what=${1:-default}
status=0

note() { printf '\n== %s\n' "$*"; }

./lacuna --version
if [[ $what =~ ^(default|tests|all)$ ]]; then
  note "tests"
  ./lacuna-tests --gtest_brief=1 --gtest_filter="${LACUNA_TESTS:-*cuda*}" || status=1
  note "lacuna demo"
  ./lacuna --device cuda demo || status=1
fi
if [[ $what =~ ^(sanitize|all)$ ]]; then
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck; do
    note "$tool"
    "$sanitizer" --tool "$tool" --error-exitcode 9 ./lacuna-tests --gtest_brief=1 \
      --gtest_filter="${LACUNA_SANITIZE_TESTS:-*cuda_double_i32_o32*:*cuda_float_i64_o64*}" || status=1
  done
fi
if [[ $what =~ ^(default|bench|all)$ ]]; then
  for suite in spmv spmv-t spmm; do
    note "lacuna-bench $suite"
    ./lacuna-bench --device cuda "$suite" --precision both || status=1
  done
fi
exit $status
