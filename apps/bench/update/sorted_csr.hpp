// What one would do on a device without a matrix that changes: CUB sorts the batch and merges it
// into the CSR, or sorts all entries and builds the CSR anew. The key of every entry, its row and
// column in 64 bits, is kept beside the CSR, so that it need not be made in every batch.
#pragma once

#include <lacuna/format/coo.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::bench {

template <class T> struct sorted_csr {
  index<index_t> shape{};
  std::int64_t size = 0; ///< arrays may have room for more
  array<std::uint64_t, space::device> keys;
  array<offset_t, space::device> rowptr;
  array<index_t, space::device> colind;
  array<T, space::device> values;

  [[nodiscard]] csr_view<const T, index_t, offset_t, space::device> view() const {
    return {values.data(), rowptr.data(), colind.data(), shape, size, {true, true}};
  }
  [[nodiscard]] std::size_t bytes() const {
    return keys.bytes() + rowptr.bytes() + colind.bytes() + values.bytes();
  }
};

/// Columns of a ascend, and none is in a row twice.
template <class T>
sorted_csr<T> to_sorted_csr(const device_context& ctx,
                            csr_view<const T, index_t, offset_t, space::device> a);
/// Adds a batch: by sorting it alone and merging, or by sorting everything. Both wait.
template <class T>
void merge_batch(const device_context& ctx, sorted_csr<T>& m,
                 coo_view<const T, index_t, offset_t, space::device> batch);
template <class T>
void rebuild_with(const device_context& ctx, sorted_csr<T>& m,
                  coo_view<const T, index_t, offset_t, space::device> batch);
/// Takes entries out at the batch's places: sorts it, looks every entry up in it, and packs what is
/// left. Waits.
template <class T>
void erase_batch(const device_context& ctx, sorted_csr<T>& m,
                 coo_view<const T, index_t, offset_t, space::device> batch);

} // namespace lacuna::bench
