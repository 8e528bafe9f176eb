// The peers, one file per peer. All are optional: one that is missing says why in `about`.
#pragma once

#include <exception>

#include "bench/contestant.hpp"

namespace lacuna::bench {

struct peer_settings {
  int threads = 1;
  std::string mkl; ///< path of libmkl_rt or of its folder; empty: search
  suite what = suite::spmv;
};

template <class T> using host_peer = peer<T, space::host>;
template <class T> using host_problem = problem<T, space::host>;

template <class T> host_peer<T> eigen_peer(const peer_settings& settings);
template <class T> host_peer<T> mkl_peer(const peer_settings& settings);
template <class T> host_peer<T> librsb_peer(const peer_settings& settings);
template <class T> host_peer<T> graphblas_peer(const peer_settings& settings);
template <class T> host_peer<T> scipy_peer();

template <class T> peer<T, space::device> cusparse_peer(const context<space::device>& ctx);

/// A peer that fails while it starts counts as missing.
template <class Peer, class Find> Peer found_or_why(const char* name, Find find) {
  try {
    return find();
  } catch (const std::exception& e) {
    return {name, e.what(), {}};
  }
}

/// All that were looked for, those this program was built without included.
template <class T> std::vector<host_peer<T>> host_peers(const peer_settings& settings) {
  using peer_of_host = host_peer<T>;
  std::vector<peer_of_host> result;
#ifdef LACUNA_BENCH_EIGEN
  result.push_back(found_or_why<peer_of_host>("Eigen", [&] { return eigen_peer<T>(settings); }));
#else
  result.push_back({"Eigen", "not built in", {}});
#endif
  result.push_back(found_or_why<peer_of_host>("MKL", [&] { return mkl_peer<T>(settings); }));
#ifdef LACUNA_BENCH_LIBRSB
  result.push_back(found_or_why<peer_of_host>("librsb", [&] { return librsb_peer<T>(settings); }));
#else
  result.push_back({"librsb", "not built in", {}});
#endif
#ifdef LACUNA_BENCH_GRAPHBLAS
  result.push_back(
      found_or_why<peer_of_host>("GraphBLAS", [&] { return graphblas_peer<T>(settings); }));
#else
  result.push_back({"GraphBLAS", "not built in", {}});
#endif
  if (makes_matrix(settings.what))
    result.push_back(found_or_why<peer_of_host>("SciPy", [] { return scipy_peer<T>(); }));
  return result;
}

} // namespace lacuna::bench
