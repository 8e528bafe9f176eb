// The prolongator of one near-null vector in one pass over A: what prolongator_columns,
// smoothing_factors and prolongator_values (solver/amg_prolongation.hpp) leave, bit by bit.
#include <algorithm>
#include <vector>

#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>

#include "cpu/rows.hpp"
#include "solver/amg_engine.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Longer rows of P are not sorted by insertion.
constexpr int most_inserted = 32;

/// A share of P's rows, one behind the other.
template <class T> struct alignas(128) prolongator_part { // no two on one cache line
  std::int64_t first = 0, last = 0;
  array<int> column;
  array<T> value;
  array<int> slot; ///< of an aggregate: where the row in work has it, else before that row
  int used = 0;
};

template <class T> class prolongator_rows {
public:
  amg_rows::matrix<T> a;
  const unsigned char* strong;
  const int* aggregate;
  const T* vector; ///< null: ones
  T omega;

  /// P's row, behind those before it.
  void make(std::int64_t i, prolongator_part<T>& to) const {
    if (aggregate[i] < 0) return;
    const auto [factor, used] = factors(i);
    int* const column = to.column.data();
    T* const value = to.value.data();
    int* const slot = to.slot.data();
    const int begin = to.used;
    int end = begin;
    for_each_product(i, factor, used, [&](int g, T v) {
      const int known = slot[g];
      if (known < begin) {
        slot[g] = end;
        column[end] = g;
        value[end++] = T{0} + v;
      } else {
        value[known] += v;
      }
    });
    to.used = end;
    if (end - begin <= most_inserted) {
      for (int k = begin + 1; k < end; ++k) {
        const int g = column[k];
        const T v = value[k];
        int at = k;
        for (; at > begin && column[at - 1] > g; --at) {
          column[at] = column[at - 1];
          value[at] = value[at - 1];
        }
        column[at] = g;
        value[at] = v;
      }
      return;
    }
    std::sort(column + begin, column + end);
    for (int k = begin; k < end; ++k) slot[column[k]] = k;
    std::fill(value + begin, value + end, T{0});
    for_each_product(i, factor, used, [&](int g, T v) { value[slot[g]] += v; });
  }

  /// Values of P's row, whose columns are there; `slot` as above, of all rows before. False if a
  /// product has no place.
  bool refill(std::int64_t i, const int* column, T* value, int begin, int end, int* slot) const {
    if (aggregate[i] < 0) return begin == end;
    for (int k = begin; k < end; ++k) {
      slot[column[k]] = k;
      value[k] = T{0};
    }
    bool inside = true;
    const auto [factor, used] = factors(i);
    for_each_product(i, factor, used, [&](int g, T v) {
      const int at = slot[g];
      inside &= at >= begin;
      if (at >= begin) value[at] += v;
    });
    return inside;
  }

private:
  struct row_factors {
    T factor, used; ///< -omega / d, and d: the diagonal with weak entries added
  };
  row_factors factors(std::int64_t i) const {
    T d{0}, weak{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      if (a.colind[k] == i)
        d = a.values[k];
      else if (!strong[k])
        weak += a.values[k];
    }
    const T sum = d + weak;
    const T used = amg_rows::absolute(sum) >= T(0.05) * amg_rows::absolute(d) ? sum : d;
    return {amg_rows::absolute(used) > T{0} ? -omega / used : T{0}, used};
  }
  template <class F> void for_each_product(std::int64_t i, T factor, T used, F f) const {
    const auto of = [&](std::int64_t row) { return vector == nullptr ? T{1} : vector[row]; };
    f(aggregate[i], (T{1} + factor * used) * of(i));
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int j = a.colind[k];
      if (strong[k] && aggregate[j] >= 0) f(aggregate[j], factor * a.values[k] * of(j));
    }
  }
};

} // namespace

template <class T>
csr<T, int, int> amg_prolongator(const host_context& ctx, std::int64_t rows, std::int64_t columns,
                                 amg_rows::matrix<T> a, const unsigned char* strong,
                                 const int* aggregate, const T* vector, T omega) {
  const prolongator_rows<T> maker{a, strong, aggregate, vector, omega};
  const int count = part_count(ctx, rows + a.rowptr[rows], entry_grain);
  std::vector<prolongator_part<T>> parts(static_cast<std::size_t>(count));
  for (int part = 0; part < count; ++part) {
    auto& its = parts[static_cast<std::size_t>(part)];
    its.first = first_row(a.rowptr, rows, part, count);
    its.last = first_row(a.rowptr, rows, part + 1, count);
    // Memory that is not used is not touched.
    const int most = checked_cast<int>(std::int64_t{a.rowptr[its.last]} - a.rowptr[its.first] +
                                           its.last - its.first,
                                       "entries of a prolongator");
    its.column = array<int>(ctx, most);
    its.value = array<T>(ctx, most);
    its.slot = array<int>(ctx, columns);
  }
  array<int> rowptr(ctx, rows + 1);
  for_each_part(ctx, count, 1, [&](int part, int) {
    auto& its = parts[static_cast<std::size_t>(part)];
    std::fill(its.slot.begin(), its.slot.end(), -1);
    for (std::int64_t i = its.first; i < its.last; ++i) {
      rowptr[i] = its.used;
      maker.make(i, its);
    }
  });
  std::int64_t entries = 0;
  for (const auto& its : parts) entries += its.used;
  rowptr[rows] = checked_cast<int>(entries, "entries of a prolongator");
  array<int> colind(ctx, entries);
  array<T> values(ctx, entries);
  for_each_part(ctx, count, 1, [&](int part, int) {
    const auto& its = parts[static_cast<std::size_t>(part)];
    int before = 0;
    for (int k = 0; k < part; ++k) before += parts[static_cast<std::size_t>(k)].used;
    for (std::int64_t i = its.first; i < its.last; ++i) rowptr[i] += before;
    std::copy_n(its.column.data(), its.used, colind.data() + before);
    std::copy_n(its.value.data(), its.used, values.data() + before);
  });
  return {{static_cast<int>(rows), static_cast<int>(columns)},
          std::move(rowptr),
          std::move(colind),
          std::move(values),
          {true, true}};
}

template <class T>
void amg_refill_prolongator(const host_context& ctx, amg_rows::matrix<T> a,
                            const unsigned char* strong, const int* aggregate, const T* vector,
                            T omega, csr<T, int, int>& p) {
  const prolongator_rows<T> maker{a, strong, aggregate, vector, omega};
  const std::int64_t rows = p.shape().row, columns = p.shape().col;
  const int count = part_count(ctx, rows + a.rowptr[rows], entry_grain);
  array<int> slots(ctx, count * columns);
  array<int> outside(ctx, count);
  for_each_part(ctx, count, 1, [&](int part, int) {
    int* const slot = slots.data() + part * columns;
    std::fill_n(slot, columns, -1);
    bool inside = true;
    const std::int64_t last = first_row(a.rowptr, rows, part + 1, count);
    for (std::int64_t i = first_row(a.rowptr, rows, part, count); i < last; ++i)
      inside &= maker.refill(i, p.colind().data(), p.values().data(), p.rowptr()[i],
                             p.rowptr()[i + 1], slot);
    outside[part] = inside ? 0 : 1;
  });
  if (std::any_of(outside.begin(), outside.end(), [](int is) { return is != 0; }))
    throw bad_input("amg: an entry of P has no place in the pattern that was set up");
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template csr<T, int, int> amg_prolongator(const host_context&, std::int64_t, std::int64_t,       \
                                            amg_rows::matrix<T>, const unsigned char*, const int*, \
                                            const T*, T);                                          \
  template void amg_refill_prolongator(const host_context&, amg_rows::matrix<T>,                   \
                                       const unsigned char*, const int*, const T*, T,              \
                                       csr<T, int, int>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
