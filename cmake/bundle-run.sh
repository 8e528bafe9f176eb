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
  # Processes take turns on a device, unless its multi-process service is there: then half the time.
  shards=${LACUNA_SHARDS:-$(($(nproc) < 16 ? $(nproc) : 16))}
  note "tests, $shards at a time"
  logs=$(mktemp -d)
  if [ "$shards" -gt 1 ] && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] && command -v nvidia-cuda-mps-control >/dev/null; then
    export CUDA_MPS_PIPE_DIRECTORY=$logs CUDA_MPS_LOG_DIRECTORY=$logs
    if nvidia-cuda-mps-control -d; then
      trap 'echo quit | nvidia-cuda-mps-control' EXIT
    else
      unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    fi
  fi
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_WAIT_POLICY=passive \
      ./lacuna-tests --gtest_brief=1 --gtest_filter="${LACUNA_TESTS:-*cuda*:*Device*}" >"$logs/$shard" 2>&1 &
    pids[shard]=$!
  done
  for ((shard = 0; shard < shards; ++shard)); do
    wait "${pids[shard]}" || { status=1; echo "shard $shard failed:"; }
    cat "$logs/$shard"
  done
  echo "tests: $SECONDS s"
  if [ "${CUDA_MPS_PIPE_DIRECTORY:-}" = "$logs" ]; then # what follows is timed, or sanitized, without it
    echo quit | nvidia-cuda-mps-control
    trap - EXIT
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  fi
  rm -r "$logs"
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
