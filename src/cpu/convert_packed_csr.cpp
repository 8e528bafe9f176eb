#include <lacuna/format/packed_csr.hpp>

#include <vector>

#include "cpu/packed_kernels.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T> array<T> copied(const host_context& ctx, vector_view<const T> from) {
  array<T> result(ctx, from.size());
  for_each_range(ctx, from.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::copy(from.begin() + begin, from.begin() + end, result.begin() + begin);
  });
  return result;
}

/// Base and width of a chunk; where it begins is not known yet.
template <class I> packed_chunk<I> find_head(const I* columns, std::int64_t count) {
  using word = std::make_unsigned_t<I>;
  I low = columns[0], high = columns[0];
  for (std::int64_t k = 1; k < count; ++k) {
    low = std::min(low, columns[k]);
    high = std::max(high, columns[k]);
  }
  const auto spread = static_cast<std::uint64_t>(static_cast<word>(high) - static_cast<word>(low));
  const int log_width = spread <= 0xff ? 0 : spread <= 0xffff ? 1 : spread <= 0xffffffff ? 2 : 3;
  return {low, static_cast<word>(log_width)};
}

template <class U, class I>
void pack(const I* columns, std::int64_t count, I base, std::uint8_t* result) {
  auto* distances = reinterpret_cast<U*>(result);
  for (std::int64_t k = 0; k < count; ++k) distances[k] = static_cast<U>(columns[k] - base);
  std::fill(distances + count, distances + chunk_entries, U{0});
}

} // namespace

template <class T, class I, class O>
packed_csr<T, I, O> csr_to_packed_csr(const host_context& ctx, csr_view<const T, I, O> a) {
  using word = std::make_unsigned_t<I>;
  const std::int64_t nnz = a.size(), count = chunk_count(nnz);
  const I* const colind = a.colind().data();
  array<packed_chunk<I>> chunks(ctx, count);
  const auto entries_of = [=](std::int64_t c) {
    return std::min<std::int64_t>(chunk_entries, nnz - c * chunk_entries);
  };
  const int parts = part_count(ctx, count, chunk_grain);
  std::vector<std::int64_t> first_byte(static_cast<std::size_t>(parts) + 1);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t bytes = 0;
    for (std::int64_t c = part_begin(count, part, parts); c < part_begin(count, part + 1, parts);
         ++c) {
      chunks[c] = find_head(colind + c * chunk_entries, entries_of(c));
      bytes += chunks[c].bytes();
    }
    first_byte[static_cast<std::size_t>(part) + 1] = bytes;
  });
  for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part)
    first_byte[part + 1] += first_byte[part];
  (void)checked_cast<I>(first_byte.back() / 32, "to_packed_csr: columns in units of 32 bytes");

  array<std::uint8_t> columns(ctx, first_byte.back());
  auto rowptr = copied(ctx, a.rowptr());
  auto values = copied(ctx, a.values());
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t byte = first_byte[static_cast<std::size_t>(part)];
    for (std::int64_t c = part_begin(count, part, parts); c < part_begin(count, part + 1, parts);
         ++c) {
      packed_chunk<I>& chunk = chunks[c];
      chunk.place += static_cast<word>(byte / chunk_entries) << 2;
      const I* from = colind + c * chunk_entries;
      std::uint8_t* to = columns.data() + byte;
      switch (chunk.log_width()) {
      case 0: pack<std::uint8_t>(from, entries_of(c), chunk.base, to); break;
      case 1: pack<std::uint16_t>(from, entries_of(c), chunk.base, to); break;
      case 2: pack<std::uint32_t>(from, entries_of(c), chunk.base, to); break;
      default: pack<std::uint64_t>(from, entries_of(c), chunk.base, to);
      }
      byte += chunk.bytes();
    }
  });
  return {a.shape(),          std::move(rowptr), std::move(chunks),
          std::move(columns), std::move(values), a.order()};
}

template <class T, class I, class O>
csr<T, I, O> packed_csr_to_csr(const host_context& ctx, packed_csr_view<const T, I, O> a) {
  return {a.shape(), copied(ctx, a.rowptr()), unpack_columns(ctx, a), copied(ctx, a.values()),
          a.order()};
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template packed_csr<T, I, O> csr_to_packed_csr(const host_context&, csr_view<const T, I, O>);    \
  template csr<T, I, O> packed_csr_to_csr(const host_context&, packed_csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
