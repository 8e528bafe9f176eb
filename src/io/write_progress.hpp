// How far a writer is, told in entries while it counts bytes.
#pragma once

#include <algorithm>
#include <string_view>

#include <lacuna/io/write.hpp>

namespace lacuna::io {

class write_progress {
public:
  /// `bytes` of numbers in all, which stand for `entries`.
  write_progress(const write_options& options, std::int64_t entries, std::int64_t bytes)
      : options_(options), entries_(entries), bytes_(std::max<std::int64_t>(bytes, 1)) {}

  /// out.write() in chunks, after each of which it is told.
  template <class Out> void write(Out& out, std::string_view bytes) {
    constexpr std::size_t chunk = std::size_t{1} << 22;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk, bytes.size()))) {
      out.write(bytes.substr(0, chunk));
      add(static_cast<std::int64_t>(std::min(chunk, bytes.size())));
    }
  }
  /// So many more are written.
  void add(std::int64_t bytes) {
    done_ = std::min(done_ + bytes, bytes_);
    const double share = static_cast<double>(done_) / static_cast<double>(bytes_);
    if (options_.progress)
      options_.progress(static_cast<std::int64_t>(share * static_cast<double>(entries_)), entries_);
  }

private:
  const write_options& options_;
  std::int64_t entries_, bytes_, done_ = 0;
};

} // namespace lacuna::io
