// Batches that matrices are changed by, and what they must make of a matrix.
#pragma once

#include <span>
#include <vector>

#include <lacuna/format/coo.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::bench {

/// What an entry does to one that is there.
enum class update_rule { add, replace };

/// The matrix with whole numbers from 1 to 8 as values: sums of some thousand of them are exact in
/// any order.
template <class T> csr<T> with_small_values(csr<T> a);

/// Entries in any order: a row is drawn as often as it has entries, and a column likewise. So
/// uniform matrices get uniform batches, and hubs get more. Values are whole, from 1 to 8.
template <class T>
std::vector<coo<T>> make_batches(const host_context& ctx, csr_view<const T> a, std::int64_t size,
                                 int count, std::uint64_t seed);

/// The matrix's own entries in random order, cut into batches.
template <class T>
std::vector<coo<T>> shuffled_entries(const host_context& ctx, csr_view<const T> a,
                                     std::int64_t size, std::uint64_t seed);

/// a, whose columns ascend, after all batches: made by the standard library's sort.
template <class T>
csr<T> expected_after(const host_context& ctx, csr_view<const T> a, std::span<const coo<T>> batches,
                      update_rule rule);
/// a without the entries at the batches' places.
template <class T>
csr<T> expected_without(const host_context& ctx, csr_view<const T> a,
                        std::span<const coo<T>> batches);

/// To the bit.
template <class T> bool same_matrix(csr_view<const T> a, csr_view<const T> b);

} // namespace lacuna::bench
