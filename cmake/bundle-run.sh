#!/usr/bin/env bash
# Runs the GPU battery, compute-sanitizer if it is installed, and the benchmarks beside cuSPARSE.
#   ./run [tests|sanitize|bench|all]     (default: tests and bench)
# LACUNA_TESTS is a filter of GoogleTest's, LACUNA_SHARDS how many processes share the tests.
set -uo pipefail
cd "$(dirname "$0")"
what=${1:-default}
status=0

note() { printf '\n== %s\n' "$*"; }

./lacuna --version
if [[ $what =~ ^(default|tests|all)$ ]]; then
  # Most of the time of a test is the host's, which makes matrices and references: several at once.
  shards=${LACUNA_SHARDS:-$(($(nproc) < 12 ? $(nproc) : 12))}
  note "tests, $shards at a time"
  logs=$(mktemp -d)
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_WAIT_POLICY=passive \
      ./lacuna-tests --gtest_brief=1 --gtest_filter="${LACUNA_TESTS:-*cuda*}" >"$logs/$shard" 2>&1 &
    pids[shard]=$!
  done
  for ((shard = 0; shard < shards; ++shard)); do
    wait "${pids[shard]}" || { status=1; echo "shard $shard failed:"; }
    cat "$logs/$shard"
  done
  rm -r "$logs"
  echo "tests: $SECONDS s"
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
