// Writing arrays that no cache would keep: past them, so that a line is not read before it is
// written. A copy then moves two thirds of the bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lacuna::detail::cpu {

/// Bytes from which an array counts as too large to be kept: half of a usual last-level cache.
inline constexpr std::int64_t streamed_bytes = std::int64_t{1} << 24;

/// What this thread has streamed is there for others.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Writes tiles to places in memory, by streaming stores or through the caches. Both must be
/// aligned to 64 bytes and hold whole lines. What was streamed is there for others when the writer
/// is gone.
class tile_writer {
public:
  explicit tile_writer(bool streams) : streams_(streams) {}
  ~tile_writer() {
    if (streams_) finish_streaming();
  }
  tile_writer(const tile_writer&) = delete;
  tile_writer& operator=(const tile_writer&) = delete;

  template <class T> void write(const T* tile, std::int64_t count, T* to) const {
#if defined(__SSE2__)
    if (streams_) {
      const auto* const from = reinterpret_cast<const __m128i*>(tile);
      auto* const line = reinterpret_cast<__m128i*>(to);
      for (std::int64_t i = 0; i < count * std::int64_t{sizeof(T)} / 16; ++i)
        _mm_stream_si128(line + i, _mm_load_si128(from + i));
      return;
    }
#endif
    std::memcpy(to, tile, static_cast<std::size_t>(count) * sizeof(T));
  }

private:
  [[maybe_unused]] bool streams_; // elsewhere than on x86 it makes no difference
};

/// Writes one value, past the caches if `streams`: for values that are written one after the other
/// and begin at no line. What was streamed is there for others after finish_streaming().
template <bool streams, class T> void write_value(T* to, T value) {
#if defined(__x86_64__)
  if constexpr (streams && sizeof(T) == 8)
    return _mm_stream_si64(reinterpret_cast<long long*>(to), std::bit_cast<long long>(value));
  else if constexpr (streams)
    return _mm_stream_si32(reinterpret_cast<int*>(to), std::bit_cast<int>(value));
#endif
  *to = value;
}
} // namespace lacuna::detail::cpu
