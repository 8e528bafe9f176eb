// What all fuzzers of file formats do: read the bytes with a bound on memory, and look at what
// comes out. Only Lacuna's own exceptions may leave a reader.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>

#include "io/formats.hpp"

namespace lacuna::fuzz {

/// Arrays together hold no more than this.
constexpr std::int64_t most_memory = std::int64_t{256} << 20;

inline bool may_allocate(space s, std::size_t bytes) {
  return bytes <= static_cast<std::size_t>(most_memory) &&
         memory(s).in_use + static_cast<std::int64_t>(bytes) <= most_memory;
}

/// Stops the program if an entry is outside the matrix or arrays differ in size.
template <class T> void require_sound(const io::file_triplets<T>& read) {
  std::visit(
      [&](const auto& e) {
        const std::int64_t rows = read.about.rows, cols = read.about.cols;
        if (e.shape.row != rows || e.shape.col != cols || rows < 0 || cols < 0) std::abort();
        if (e.rowind.size() != e.colind.size()) std::abort();
        if (!e.values.empty() && e.values.size() != e.rowind.size()) std::abort();
        if (!e.imaginary.empty() && e.imaginary.size() != e.values.size()) std::abort();
        for (std::int64_t k = 0; k < e.rowind.size(); ++k)
          if (e.rowind[k] < 0 || e.rowind[k] >= rows || e.colind[k] < 0 || e.colind[k] >= cols)
            std::abort();
      },
      read.entries);
}

/// HDF5 runs in a process of its own because it fails on damaged files. That process's end is
/// expected; libFuzzer, which was copied into it, must not take it for a finding.
inline void forget_fuzzer_in_children() {
  static const int once =
      pthread_atfork(nullptr, nullptr, [] { __sanitizer_set_death_callback([] { _exit(1); }); });
  static_cast<void>(once);
}

/// read(ctx, bytes, name, options) is one of the readers.
template <class Read> void read_bytes(const std::uint8_t* data, std::size_t size, Read read) {
  static const host_context ctx({1});
  set_allocation_hook(may_allocate);
  forget_fuzzer_in_children();
  const std::string name = "fuzz";
  io::read_options options;
  for (const auto rule : {io::complex_rule::abs, io::complex_rule::keep}) {
    options.complex = rule;
    try {
      require_sound(
          read(ctx, io::bytes_view(reinterpret_cast<const char*>(data), size), name, options));
    } catch (const error&) { // the file's fault
    }
  }
}

} // namespace lacuna::fuzz
