#include "bench/update/batches.hpp"

#include <algorithm>
#include <cstring>

#include <lacuna/op/convert.hpp>

namespace lacuna::bench {
namespace {

/// splitmix64 of a position.
std::uint64_t hashed(std::uint64_t seed, std::uint64_t k) {
  std::uint64_t z = (seed * 0x9e3779b97f4a7c15ULL) ^ (k + 0x632be59bd9b4e019ULL);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}
template <class T> T small_value(std::uint64_t bits) { return static_cast<T>(1 + bits % 8); }

/// Entries of all batches by row, those of a row by column, those of a place in their order.
template <class T> class sorted_batches {
public:
  struct item {
    index_t column;
    T value;
  };
  sorted_batches(const host_context& ctx, std::int64_t rows, std::span<const coo<T>> batches)
      : starts_(static_cast<std::size_t>(rows) + 1) {
    for (const auto& b : batches)
      for (const index_t row : b.rowind()) ++starts_[static_cast<std::size_t>(row) + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    items_.resize(starts_.back());
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (const auto& b : batches)
      for (std::int64_t k = 0; k < b.size(); ++k)
        items_[next[static_cast<std::size_t>(b.rowind()[k])]++] = {b.colind()[k], b.values()[k]};
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 1024)
    for (std::int64_t i = 0; i < rows; ++i)
      std::stable_sort(begin(i), end(i),
                       [](const item& a, const item& b) { return a.column < b.column; });
  }
  item* begin(std::int64_t row) { return items_.data() + starts_[static_cast<std::size_t>(row)]; }
  item* end(std::int64_t row) { return items_.data() + starts_[static_cast<std::size_t>(row) + 1]; }

private:
  std::vector<std::size_t> starts_;
  std::vector<item> items_;
};

/// Rows that are made one after another.
template <class T> class csr_builder {
public:
  csr_builder(index<index_t> shape, std::int64_t most) : shape_(shape), rowptr_{0} {
    colind_.reserve(static_cast<std::size_t>(most));
    values_.reserve(static_cast<std::size_t>(most));
  }
  void put(index_t column, T value) {
    colind_.push_back(column);
    values_.push_back(value);
  }
  void end_row() { rowptr_.push_back(static_cast<offset_t>(colind_.size())); }
  csr<T> finish(const host_context& ctx) const {
    return {
        shape_, copy_to(ctx, rowptr_), copy_to(ctx, colind_), copy_to(ctx, values_), {true, true}};
  }

private:
  index<index_t> shape_;
  std::vector<offset_t> rowptr_;
  std::vector<index_t> colind_;
  std::vector<T> values_;
};

template <class T> std::int64_t entries_of(std::span<const coo<T>> batches) {
  std::int64_t count = 0;
  for (const auto& b : batches) count += b.size();
  return count;
}

} // namespace

template <class T> csr<T> with_small_values(csr<T> a) {
  for (std::int64_t k = 0; k < a.size(); ++k)
    a.values()[k] = small_value<T>(hashed(7, static_cast<std::uint64_t>(k)));
  return a;
}

template <class T>
std::vector<coo<T>> make_batches(const host_context& ctx, csr_view<const T> a, std::int64_t size,
                                 int count, std::uint64_t seed) {
  const coo<T> places = to_coo(ctx, a);
  const auto entries = static_cast<std::uint64_t>(std::max<std::int64_t>(a.size(), 1));
  if (a.size() == 0) size = 0;
  std::vector<coo<T>> result;
  for (int b = 0; b < count; ++b) {
    coo<T>& batch = result.emplace_back(ctx, a.shape(), static_cast<offset_t>(size));
    const std::uint64_t own = seed + 3 * static_cast<std::uint64_t>(b);
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
    for (std::int64_t k = 0; k < size; ++k) {
      const auto at = static_cast<std::uint64_t>(k);
      batch.rowind()[k] = places.rowind()[static_cast<std::int64_t>(hashed(own, at) % entries)];
      batch.colind()[k] = places.colind()[static_cast<std::int64_t>(hashed(own + 1, at) % entries)];
      batch.values()[k] = small_value<T>(hashed(own + 2, at));
    }
  }
  return result;
}

template <class T>
std::vector<coo<T>> shuffled_entries(const host_context& ctx, csr_view<const T> a,
                                     std::int64_t size, std::uint64_t seed) {
  const coo<T> entries = to_coo(ctx, a);
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.size()));
  for (std::size_t k = 0; k < order.size(); ++k) { // Fisher and Yates
    const auto other = static_cast<std::size_t>(hashed(seed, k) % (k + 1));
    order[k] = order[other];
    order[other] = static_cast<std::int64_t>(k);
  }
  std::vector<coo<T>> result;
  for (std::int64_t first = 0; first < a.size(); first += size) {
    const std::int64_t count = std::min<std::int64_t>(size, a.size() - first);
    coo<T>& batch = result.emplace_back(ctx, a.shape(), static_cast<offset_t>(count));
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from = order[static_cast<std::size_t>(first + k)];
      batch.rowind()[k] = entries.rowind()[from];
      batch.colind()[k] = entries.colind()[from];
      batch.values()[k] = entries.values()[from];
    }
  }
  return result;
}

template <class T>
csr<T> expected_after(const host_context& ctx, csr_view<const T> a, std::span<const coo<T>> batches,
                      update_rule rule) {
  sorted_batches<T> more(ctx, a.shape().row, batches);
  csr_builder<T> result(a.shape(), a.size() + entries_of(batches));
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    offset_t k = a.rowptr()[i];
    const offset_t last = a.rowptr()[i + 1];
    for (const auto* next = more.begin(i); k < last || next != more.end(i);) {
      const index_t column = next == more.end(i)                        ? a.colind()[k]
                             : k < last && a.colind()[k] < next->column ? a.colind()[k]
                                                                        : next->column;
      T value{0};
      if (k < last && a.colind()[k] == column) value = a.values()[k++];
      for (; next != more.end(i) && next->column == column; ++next)
        value = rule == update_rule::add ? value + next->value : next->value;
      result.put(column, value);
    }
    result.end_row();
  }
  return result.finish(ctx);
}

template <class T>
csr<T> expected_without(const host_context& ctx, csr_view<const T> a,
                        std::span<const coo<T>> batches) {
  sorted_batches<T> gone(ctx, a.shape().row, batches);
  csr_builder<T> result(a.shape(), a.size());
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    const auto* next = gone.begin(i);
    for (offset_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
      while (next != gone.end(i) && next->column < a.colind()[k]) ++next;
      if (next == gone.end(i) || next->column != a.colind()[k])
        result.put(a.colind()[k], a.values()[k]);
    }
    result.end_row();
  }
  return result.finish(ctx);
}

template <class T> bool same_matrix(csr_view<const T> a, csr_view<const T> b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           (x.empty() ||
            std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof x[0]) == 0);
  };
  return a.shape() == b.shape() && equal(a.rowptr(), b.rowptr()) && equal(a.colind(), b.colind()) &&
         equal(a.values(), b.values());
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template csr<T> with_small_values(csr<T>);                                                       \
  template std::vector<coo<T>> make_batches(const host_context&, csr_view<const T>, std::int64_t,  \
                                            int, std::uint64_t);                                   \
  template std::vector<coo<T>> shuffled_entries(const host_context&, csr_view<const T>,            \
                                                std::int64_t, std::uint64_t);                      \
  template csr<T> expected_after(const host_context&, csr_view<const T>, std::span<const coo<T>>,  \
                                 update_rule);                                                     \
  template csr<T> expected_without(const host_context&, csr_view<const T>,                         \
                                   std::span<const coo<T>>);                                       \
  template bool same_matrix(csr_view<const T>, csr_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::bench
