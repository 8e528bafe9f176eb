// What a generator makes: a shape and a function that gives the entries of any row. It knows
// nothing of the matrix's types and is compiled once; build() makes matrices of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <lacuna/gen/generate.hpp>

namespace lacuna::gen {

/// Receives the entries of one row, columns ascending, and hands them on some at a time. Allocates
/// nothing, so that rows of any length can be made inside a parallel region.
class row_sink {
public:
  row_sink() = default;
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;

  void operator()(std::int64_t col, double value) {
    if (count_ == capacity) flush();
    columns_[count_] = col;
    values_[count_] = value;
    ++count_;
  }
  /// After the last entry of a row.
  void flush() {
    take(columns_, values_, count_);
    count_ = 0;
  }

protected:
  ~row_sink() = default;

private:
  static constexpr int capacity = 128; // 2 KiB: stays in the first-level cache
  virtual void take(const std::int64_t* columns, const double* values, int count) = 0;

  std::int64_t columns_[capacity];
  double values_[capacity];
  int count_ = 0;
};

struct edge {
  std::int64_t from = 0, to = 0;
  double value = 0;
};

struct source {
  size shape; ///< entries: exact or an upper bound
  /// Emits row i, columns ascending, each once. Must not throw; called from many threads, twice per
  /// row: to count and to fill.
  std::function<void(std::int64_t i, row_sink& emit)> row = {};
  /// Exactly as many entries as row emits, where that is known without emitting: half the time.
  std::function<std::int64_t(std::int64_t i)> row_length = {};

  /// About how many entries there will be, where shape.entries is a loose bound.
  std::int64_t likely_entries = shape.entries;

  /// Instead of row: edge k of `edges`, in any order; repeated ones are summed.
  std::function<edge(std::int64_t k)> edge_at = {};
  std::int64_t edges = 0;
  bool both_ways = false; ///< each edge also from `to` to `from`
};

/// Throws bad_input if the widths are too narrow, out_of_memory if this machine's memory is too
/// small (said before anything is generated); `name` is for the messages.
template <class T, class I, class O>
csr<T, I, O> build(const host_context& ctx, std::string_view name, const source& from);

} // namespace lacuna::gen
