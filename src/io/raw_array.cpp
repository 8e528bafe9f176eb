#include "io/raw_array.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as little-endian");

template <class U> U byte_swapped(U u) {
  if constexpr (sizeof(U) == 1) {
    return u;
  } else if constexpr (sizeof(U) == 2) {
    return std::bit_cast<U>(__builtin_bswap16(std::bit_cast<std::uint16_t>(u)));
  } else if constexpr (sizeof(U) == 4) {
    return std::bit_cast<U>(__builtin_bswap32(std::bit_cast<std::uint32_t>(u)));
  } else {
    return std::bit_cast<U>(__builtin_bswap64(std::bit_cast<std::uint64_t>(u)));
  }
}

template <class U, bool Swapped> struct numbers {
  using type = U;
  const char* data;
  U operator[](std::int64_t k) const {
    U u;
    std::memcpy(&u, data + k * static_cast<std::int64_t>(sizeof(U)), sizeof(U));
    if constexpr (Swapped) u = byte_swapped(u);
    return u;
  }
};
struct booleans {
  using type = bool;
  const char* data;
  bool operator[](std::int64_t k) const { return data[k] != 0; }
};

/// Calls f with an object whose [k] is element k. Complex arrays count as twice as many reals.
template <class F> auto visit(const raw_array& a, F&& f) {
  const auto in_order = [&]<class U>(U) {
    return a.swapped ? f(numbers<U, true>{a.data}) : f(numbers<U, false>{a.data});
  };
  switch (a.type) {
  case number::boolean: break;
  case number::int8: return in_order(std::int8_t{});
  case number::uint8: return in_order(std::uint8_t{});
  case number::int16: return in_order(std::int16_t{});
  case number::uint16: return in_order(std::uint16_t{});
  case number::int32: return in_order(std::int32_t{});
  case number::uint32: return in_order(std::uint32_t{});
  case number::int64: return in_order(std::int64_t{});
  case number::uint64: return in_order(std::uint64_t{});
  case number::float32:
  case number::complex64: return in_order(float{});
  case number::float64:
  case number::complex128: return in_order(double{});
  }
  return f(booleans{a.data});
}

template <class U> constexpr bool is_index_type = std::is_integral_v<U> && !std::is_same_v<U, bool>;

/// Negative numbers become large ones.
template <class U> std::uint64_t as_unsigned(U u) {
  if constexpr (std::is_signed_v<U>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(u));
  else
    return u;
}

void require_integers(const raw_array& a, const std::string& file) {
  if (field_of(a.type) != field::integer || a.type == number::boolean)
    throw_bad(a.what + " does not hold integers", file);
}

/// Element first + step * k for each k, as T. Integers must be exact in a double; to a float they
/// are rounded as other numbers are.
template <class T>
array<T> converted(const host_context& ctx, const raw_array& a, std::int64_t first,
                   std::int64_t step, const std::string& file) {
  array<T> result(ctx, a.size);
  visit(a, [&](auto in) {
    using U = typename decltype(in)::type;
    std::atomic<bool> inexact{false};
    const auto exact = [](U u) {
      if constexpr (std::is_same_v<U, std::int64_t>)
        return is_exact(magnitude_of(u));
      else if constexpr (std::is_same_v<U, std::uint64_t>)
        return is_exact(u);
      else
        return true;
    };
    detail::cpu::for_each_range(ctx, a.size, detail::cpu::entry_grain,
                                [&](std::int64_t begin, std::int64_t end) {
                                  bool good = true;
                                  for (std::int64_t k = begin; k < end; ++k) {
                                    const U u = in[first + step * k];
                                    good &= exact(u);
                                    result[k] = static_cast<T>(u);
                                  }
                                  if (!good) inexact = true;
                                });
    if (!inexact) return;
    std::int64_t k = 0;
    while (exact(in[k])) ++k;
    throw_bad(fmt::format("{}[{}] is {}, which no double is: integers beyond 2^53 would change",
                          a.what, k, in[k]),
              file);
  });
  return result;
}

template <class T>
array<T> absolute_values(const host_context& ctx, const array<double>& real,
                         const array<double>& imaginary) {
  array<T> result(ctx, real.size());
  detail::cpu::for_each_range(ctx, real.size(), detail::cpu::entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t k = begin; k < end; ++k)
                                  result[k] = static_cast<T>(std::hypot(real[k], imaginary[k]));
                              });
  return result;
}

/// All elements, each within [0, limit).
template <class I>
array<I> indices_of(const host_context& ctx, const raw_array& a, std::int64_t limit,
                    const std::string& file) {
  require_integers(a, file);
  array<I> result(ctx, a.size);
  visit(a, [&](auto in) {
    std::atomic<bool> bad{false};
    detail::cpu::for_each_range(
        ctx, a.size, detail::cpu::entry_grain, [&](std::int64_t begin, std::int64_t end) {
          bool bad_here = false;
          for (std::int64_t k = begin; k < end; ++k) {
            bad_here |= as_unsigned(in[k]) >= static_cast<std::uint64_t>(limit);
            result[k] = static_cast<I>(in[k]);
          }
          if (bad_here) bad = true;
        });
    if (!bad) return;
    std::int64_t k = 0;
    while (as_unsigned(in[k]) < static_cast<std::uint64_t>(limit)) ++k;
    throw_bad(fmt::format("{}[{}] is {}, not in 0..{}", a.what, k, in[k], limit - 1), file);
  });
  return result;
}

/// The row of each entry. The pointers have been checked.
template <class I>
array<I> rows_of(const host_context& ctx, const raw_array& pointers, std::int64_t entries) {
  array<I> result(ctx, entries);
  visit(pointers, [&](auto in) {
    detail::cpu::for_each_range(ctx, pointers.size - 1, detail::cpu::entry_grain,
                                [&](std::int64_t begin, std::int64_t end) {
                                  for (std::int64_t i = begin; i < end; ++i)
                                    std::fill(result.data() + static_cast<std::int64_t>(in[i]),
                                              result.data() + static_cast<std::int64_t>(in[i + 1]),
                                              static_cast<I>(i));
                                });
  });
  return result;
}

bool narrow(const file_info& about) {
  return fits<std::int32_t>(about.rows) && fits<std::int32_t>(about.cols);
}

void require_values(std::int64_t values, std::int64_t entries, const file_info& about) {
  if (about.values != field::pattern && values != entries)
    throw_bad(fmt::format("{} values for {} entries", values, entries), about.file);
}

template <class T, class I>
file_triplets<T> finished(const host_context& ctx, file_info about, array<I> rows, array<I> cols,
                          entry_values<T> values) {
  about.stored_entries = rows.size();
  file_triplets<T> result{triplets<T, I>{{static_cast<I>(about.rows), static_cast<I>(about.cols)},
                                         std::move(rows),
                                         std::move(cols),
                                         std::move(values.real),
                                         std::move(values.imaginary)},
                          std::move(about)};
  check_structure(ctx, result);
  return result;
}

} // namespace

std::int64_t size_of(number type) noexcept {
  switch (type) {
  case number::boolean:
  case number::int8:
  case number::uint8: return 1;
  case number::int16:
  case number::uint16: return 2;
  case number::int32:
  case number::uint32:
  case number::float32: return 4;
  case number::complex128: return 16;
  default: return 8;
  }
}

bool is_complex(number type) noexcept {
  return type == number::complex64 || type == number::complex128;
}

field field_of(number type) noexcept {
  if (is_complex(type)) return field::complex;
  return type == number::float32 || type == number::float64 ? field::real : field::integer;
}

void check_pointers(const raw_array& pointers, std::int64_t rows, std::int64_t entries,
                    const std::string& file) {
  require_integers(pointers, file);
  if (pointers.size - 1 != rows)
    throw_bad(fmt::format("{} has {} elements, the shape asks for {}", pointers.what, pointers.size,
                          static_cast<std::uint64_t>(rows) + 1),
              file);
  visit(pointers, [&](auto in) {
    if constexpr (is_index_type<typename decltype(in)::type>) {
      if (in[0] != 0) throw_bad(fmt::format("{}[0] is {}, not 0", pointers.what, in[0]), file);
      std::uint64_t before = 0;
      for (std::int64_t i = 1; i <= rows; ++i) {
        const std::uint64_t now = as_unsigned(in[i]);
        if (now < before || now > static_cast<std::uint64_t>(entries))
          throw_bad(
              fmt::format("{}[{}] is {}, not in {}..{}", pointers.what, i, in[i], before, entries),
              file);
        before = now;
      }
      if (before != static_cast<std::uint64_t>(entries))
        throw_bad(
            fmt::format("{} ends at {}, there are {} entries", pointers.what, before, entries),
            file);
    }
  });
}

void throw_bad(const std::string& what, const std::string& file) { throw bad_input(what, file, 0); }

void require_complex_rule(complex_rule rule, const std::string& file) {
  if (rule == complex_rule::refuse)
    throw unsupported("the values are complex; --complex real|abs reads their real parts or "
                      "absolute values",
                      file, 0);
}

std::int64_t integer_at(const raw_array& a, std::int64_t k, const std::string& file) {
  require_integers(a, file);
  if (k < 0 || k >= a.size)
    throw_bad(fmt::format("{} has {} elements, number {} is asked for", a.what, a.size, k), file);
  return visit(a, [&](auto in) -> std::int64_t {
    if constexpr (is_index_type<typename decltype(in)::type>)
      if (!std::in_range<std::int64_t>(in[k]))
        throw_bad(fmt::format("{}[{}] is {}: too large", a.what, k, in[k]), file);
    return static_cast<std::int64_t>(in[k]);
  });
}

std::int64_t product(std::int64_t a, std::int64_t b, const std::string& file) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    throw_bad(fmt::format("{} x {} elements: no file holds that many", a, b), file);
  return result;
}

template <class T>
entry_values<T> values_of(const host_context& ctx, const raw_array& a, complex_rule rule,
                          const std::string& file) {
  if (!is_complex(a.type)) return {converted<T>(ctx, a, 0, 1, file)};
  require_complex_rule(rule, file);
  if (rule == complex_rule::abs)
    return {absolute_values<T>(ctx, converted<double>(ctx, a, 0, 2, file),
                               converted<double>(ctx, a, 1, 2, file))};
  entry_values<T> result{converted<T>(ctx, a, 0, 2, file)};
  if (rule == complex_rule::keep) result.imaginary = converted<T>(ctx, a, 1, 2, file);
  return result;
}

template <class T>
entry_values<T> values_of(const host_context& ctx, const raw_array& real,
                          const raw_array& imaginary, complex_rule rule, const std::string& file) {
  require_complex_rule(rule, file);
  if (is_complex(real.type) || is_complex(imaginary.type) || real.size != imaginary.size)
    throw_bad(fmt::format("{} and {} are not real and imaginary parts of the same size", real.what,
                          imaginary.what),
              file);
  if (rule == complex_rule::abs)
    return {absolute_values<T>(ctx, converted<double>(ctx, real, 0, 1, file),
                               converted<double>(ctx, imaginary, 0, 1, file))};
  entry_values<T> result{converted<T>(ctx, real, 0, 1, file)};
  if (rule == complex_rule::keep) result.imaginary = converted<T>(ctx, imaginary, 0, 1, file);
  return result;
}

template <class T>
file_triplets<T> from_compressed(const host_context& ctx, file_info about, major order,
                                 const raw_array& pointers, const raw_array& indices,
                                 entry_values<T> values) {
  const bool by_row = order == major::row;
  check_pointers(pointers, by_row ? about.rows : about.cols, indices.size, about.file);
  require_values(values.real.size(), indices.size, about);
  const auto build = [&]<class I>(I) {
    auto inner = indices_of<I>(ctx, indices, by_row ? about.cols : about.rows, about.file);
    auto outer = rows_of<I>(ctx, pointers, indices.size);
    if (!by_row) inner.swap(outer);
    return finished<T, I>(ctx, std::move(about), std::move(outer), std::move(inner),
                          std::move(values));
  };
  return narrow(about) ? build(std::int32_t{}) : build(std::int64_t{});
}

template <class T>
file_triplets<T> from_coordinates(const host_context& ctx, file_info about, const raw_array& rows,
                                  const raw_array& cols, entry_values<T> values) {
  if (rows.size != cols.size)
    throw_bad(
        fmt::format("{} has {} elements, {} has {}", rows.what, rows.size, cols.what, cols.size),
        about.file);
  require_values(values.real.size(), rows.size, about);
  const auto build = [&]<class I>(I) {
    auto rowind = indices_of<I>(ctx, rows, about.rows, about.file);
    auto colind = indices_of<I>(ctx, cols, about.cols, about.file);
    return finished<T, I>(ctx, std::move(about), std::move(rowind), std::move(colind),
                          std::move(values));
  };
  return narrow(about) ? build(std::int32_t{}) : build(std::int64_t{});
}

template <class T>
file_triplets<T> from_dense(const host_context& ctx, file_info about, major order,
                            entry_values<T> values) {
  const std::int64_t size = product(about.rows, about.cols, about.file);
  require_values(values.real.size(), size, about);
  const bool complex = !values.imaginary.empty();
  const auto is_entry = [&](std::int64_t k) {
    const T v = values.real[k];
    return v != 0 || std::signbit(v) ||
           (complex && (values.imaginary[k] != 0 || std::signbit(values.imaginary[k])));
  };
  const int parts = detail::cpu::part_count(ctx, size, detail::cpu::entry_grain);
  array<std::int64_t> first(ctx, parts + 1); // entries before a part
  first[0] = 0;
  detail::cpu::for_each_part(ctx, parts, 1, [&](int part, int) {
    first[part + 1] = 0;
    for (auto k = detail::cpu::part_begin(size, part, parts);
         k < detail::cpu::part_begin(size, part + 1, parts); ++k)
      first[part + 1] += is_entry(k) ? 1 : 0;
  });
  for (int part = 0; part < parts; ++part) first[part + 1] += first[part];
  const auto build = [&]<class I>(I) {
    array<I> rows(ctx, first[parts]), cols(ctx, first[parts]);
    entry_values<T> kept{array<T>(ctx, first[parts])};
    if (complex) kept.imaginary = array<T>(ctx, first[parts]);
    detail::cpu::for_each_part(ctx, parts, 1, [&](int part, int) {
      const std::int64_t inner = order == major::row ? about.cols : about.rows;
      std::int64_t to = first[part];
      for (auto k = detail::cpu::part_begin(size, part, parts);
           k < detail::cpu::part_begin(size, part + 1, parts); ++k)
        if (is_entry(k)) {
          rows[to] = static_cast<I>(k / inner);
          cols[to] = static_cast<I>(k % inner);
          if (complex) kept.imaginary[to] = values.imaginary[k];
          kept.real[to++] = values.real[k];
        }
    });
    if (order == major::column) rows.swap(cols);
    auto result =
        finished<T, I>(ctx, std::move(about), std::move(rows), std::move(cols), std::move(kept));
    result.about.stored_entries = size;
    return result;
  };
  return narrow(about) ? build(std::int32_t{}) : build(std::int64_t{});
}

symmetry structure_of_real(symmetry structure, bool complex_values, complex_rule rule) noexcept {
  return structure == symmetry::skew_symmetric && complex_values && rule == complex_rule::abs
             ? symmetry::symmetric
             : structure;
}

template <class T> void check_structure(const host_context& ctx, const file_triplets<T>& entries) {
  const file_info& about = entries.about;
  if (about.structure == symmetry::general) return;
  if (about.rows != about.cols)
    throw_bad(fmt::format("{} matrix of {} rows and {} columns", name_of(about.structure),
                          about.rows, about.cols),
              about.file);
  const bool skew = about.structure == symmetry::skew_symmetric;
  std::atomic<bool> below{false}, above{false}, on_it{false};
  std::visit(
      [&](const auto& e) {
        detail::cpu::for_each_range(ctx, e.rowind.size(), detail::cpu::entry_grain,
                                    [&](std::int64_t begin, std::int64_t end) {
                                      bool lower = false, upper = false, diagonal = false;
                                      for (std::int64_t k = begin; k < end; ++k) {
                                        lower |= e.rowind[k] > e.colind[k];
                                        upper |= e.rowind[k] < e.colind[k];
                                        if (skew && e.rowind[k] == e.colind[k])
                                          diagonal |= e.values.empty() || e.values[k] != 0 ||
                                                      (!e.imaginary.empty() && e.imaginary[k] != 0);
                                      }
                                      if (lower) below = true;
                                      if (upper) above = true;
                                      if (diagonal) on_it = true;
                                    });
      },
      entries.entries);
  if (below && above)
    throw_bad(fmt::format("{} matrix with entries on both sides of the diagonal",
                          name_of(about.structure)),
              about.file);
  if (on_it) throw_bad("skew-symmetric matrix with an entry on the diagonal", about.file);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template entry_values<T> values_of(const host_context&, const raw_array&, complex_rule,          \
                                     const std::string&);                                          \
  template entry_values<T> values_of(const host_context&, const raw_array&, const raw_array&,      \
                                     complex_rule, const std::string&);                            \
  template file_triplets<T> from_compressed(const host_context&, file_info, major,                 \
                                            const raw_array&, const raw_array&, entry_values<T>);  \
  template file_triplets<T> from_coordinates(const host_context&, file_info, const raw_array&,     \
                                             const raw_array&, entry_values<T>);                   \
  template file_triplets<T> from_dense(const host_context&, file_info, major, entry_values<T>);    \
  template void check_structure(const host_context&, const file_triplets<T>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::io
