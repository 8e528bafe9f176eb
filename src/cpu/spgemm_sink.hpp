// Internal: where SpGEMM's rows go: one type for all, so that accumulators are compiled once.
#pragma once

#include "cpu/spgemm_chunks.hpp"

namespace lacuna::detail::cpu {

/// Row pointers of C, of 32 or 64 bits.
class offset_pointer {
public:
  offset_pointer() = default;
  offset_pointer(std::int32_t* rowptr) : narrow_(rowptr) {}
  offset_pointer(std::int64_t* rowptr) : wide_(rowptr) {}
  [[nodiscard]] bool is_wide() const { return wide_ != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::int64_t row) const {
    return wide_ != nullptr ? wide_[row] : narrow_[row];
  }
  /// The value must fit.
  void set(std::int64_t row, std::int64_t offset) const {
    if (wide_ != nullptr)
      wide_[row] = offset;
    else
      narrow_[row] = static_cast<std::int32_t>(offset);
  }
  /// Calls f with the pointer itself.
  template <class F> void visit(F f) const {
    if (wide_ != nullptr)
      f(wide_);
    else
      f(narrow_);
  }

private:
  std::int32_t* narrow_ = nullptr;
  std::int64_t* wide_ = nullptr;
};

/// error: "multiply: row 3 of C has 5 entries, 4 were counted".
[[noreturn]] void throw_miscounted(std::int64_t row, std::int64_t made, std::int64_t counted);

/// For the rows of one unit: sink(row, count) says where a row's entries are to be. Either counts
/// rows, and leaves them in chunks or nowhere, or puts them into C, whose rows are counted.
template <class T, class I> class row_sink {
public:
  /// rowptr[row + 1] becomes the row's count, unless units share the row. `chunks` may be null.
  row_sink(const spgemm_unit& u, offset_pointer rowptr, row_chunks<T, I>* chunks)
      : rowptr_(rowptr), cut_(u.cut), chunks_(chunks) {}
  /// Entries of C, of which others than this unit make `before` at the beginning of the first row.
  row_sink(const spgemm_unit& u, offset_pointer rowptr, I* col, T* value, std::int64_t before)
      : rowptr_(rowptr), cut_(u.cut), filling_(true), col_(col), value_(value), before_(before),
        expected_(u.entries) {}

  /// Throws chunks_full, out_of_memory, or error if a row is not as counted.
  row_place<T, I> operator()(std::int64_t row, std::int64_t count) {
    entries_ += count;
    if (filling_) return last_ = place(row, count);
    if (!cut_) rowptr_.set(row + 1, count);
    if (chunks_ != nullptr) last_ = chunks_->add(count);
    return last_;
  }
  /// Rows from `row` on, of `entries` together, which are there one behind the other.
  void rows(std::int64_t row, int rows, const std::uint8_t* counts, std::int64_t entries,
            const I* col, const T* value) {
    row_place<T, I> to;
    entries_ += entries;
    if (filling_) {
      to = place(row, counts[0]);
      for (int r = 1; r < rows; ++r) (void)place(row + r, counts[r]);
    } else {
      rowptr_.visit([&]<class OC>(OC* rowptr) {
        for (int r = 0; r < rows; ++r) rowptr[row + r + 1] = counts[r];
      });
      if (chunks_ == nullptr) return;
      to = chunks_->add(entries);
    }
    std::copy_n(col, entries, to.col);
    std::copy_n(value, entries, to.value);
  }
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  /// Where the last row began.
  [[nodiscard]] const row_place<T, I>& last() const { return last_; }

private:
  row_place<T, I> place(std::int64_t row, std::int64_t count) const {
    const std::int64_t begin = rowptr_[row], end = rowptr_[row + 1];
    const std::int64_t expected = cut_ ? expected_ : end - begin;
    if (count != expected || begin + before_ + count > end) throw_miscounted(row, count, expected);
    return {col_ + begin + before_, value_ + begin + before_};
  }

  offset_pointer rowptr_;
  bool cut_ = false, filling_ = false;
  row_chunks<T, I>* chunks_ = nullptr;
  I* col_ = nullptr;
  T* value_ = nullptr;
  std::int64_t before_ = 0, expected_ = 0, entries_ = 0;
  row_place<T, I> last_;
};

} // namespace lacuna::detail::cpu
