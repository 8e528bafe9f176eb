// What the command line asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/contestant.hpp"
#include "common/device.hpp"

namespace lacuna::bench {

enum class precision { f64, f32, both };
enum class size_class { automatic, small, medium, large };

struct settings {
  suite what = suite::spmv;
  app::device_request device;
  int threads = 0;
  precision values = precision::f64;
  std::vector<std::string> matrices; ///< as typed; empty: the default set
  std::string real;                  ///< a folder of files beside them; empty: none
  std::int64_t real_least = 100000;  ///< entries that a file of the folder has at least
  bool every_format = false;         ///< spmv, spmv-t: each candidate of the planner on its own
  bool full = false;                 ///< paper:003, paper:004: all values that the papers tried
  size_class size = size_class::automatic;
  int repeat = 0; ///< 0: the engine's default
  std::vector<std::int64_t> columns = {8, 32};
  std::vector<std::int64_t> batches; ///< update: entries of a batch; empty: the engine's default
  std::vector<layout> layouts = {layout::row_major};
  std::string json, html; ///< files; empty: none
  std::string mkl;        ///< where MKL is; empty: search
  std::vector<std::string> endings = {".mtx", ".mtx.gz", ".mtx.zst",
                                      ".npz", ".mat",    ".bsp.h5"}; ///< io
  std::string folder; ///< io: where files are made; empty: the system's for temporary ones
  std::uint64_t seed = 1;
};

} // namespace lacuna::bench
