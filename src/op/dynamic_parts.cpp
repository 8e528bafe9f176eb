// Dynamic CSR in parts: who waits for whom, what travels, and how a batch is undone. The engines
// deal rows out, split batches and gather results (src/cpu/dynamic_parts.cpp,
// src/gpu/dynamic_parts.cu); a part is a dynamic CSR like any other.
#include "op/dynamic_parts.hpp"

#include <fmt/format.h>

namespace lacuna {
namespace detail {
namespace {

[[noreturn]] void throw_without_parts(const char* what) {
  throw bad_input(fmt::format("{}: the matrix has no parts: it was not made, or moved from", what));
}
[[noreturn]] void throw_elsewhere(const char* what, int home, int device) {
  throw bad_input(fmt::format("{}: the matrix was made on device {}, the context is on {}", what,
                              home, device));
}
struct entry_place {
  std::int64_t number, row, col;
};
[[noreturn]] void throw_outside(const char* what, entry_place entry, index<std::int64_t> shape) {
  throw bad_input(fmt::format("{}: entry {} of the batch is at ({}, {}), outside of {} x {}; "
                              "nothing was changed",
                              what, entry.number, entry.row, entry.col, shape.row, shape.col));
}
void require_sizes(index<std::int64_t> shape, std::int64_t x, std::int64_t y) {
  if (x != shape.col || y != shape.row)
    throw size_mismatch(fmt::format("multiply: x has {} elements and y {}, of a matrix of {} x {}",
                                    x, y, shape.row, shape.col));
}
template <class I> index<std::int64_t> wide(index<I> shape) { return {shape.row, shape.col}; }

} // namespace

template <class I> void check_slots(const array<I>& slots, std::int64_t rows) {
  if (slots.size() != rows)
    throw bad_input(fmt::format("dynamic_csr_parts: {} slots for {} rows", slots.size(), rows));
  std::vector<char> taken(static_cast<std::size_t>(rows), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (slots[i] < 0 || slots[i] >= rows || taken[slots[i]] != 0)
      throw bad_input(fmt::format("dynamic_csr_parts: slot {} of row {} is outside, or another "
                                  "row's, too",
                                  slots[i], i));
    taken[slots[i]] = 1;
  }
}
template void check_slots(const array<std::int32_t>&, std::int64_t);
template void check_slots(const array<std::int64_t>&, std::int64_t);

template <class T, class I, class O, space S> struct parts_access {
  using matrix = dynamic_csr_parts<T, I, O, S>;
  using part_type = dynamic_csr<T, I, O, S>;
  using split_type = split_batch<T, I, S>;

  static void require_home(const char* what, const context<S>& ctx, const matrix& m) {
    if (m.parts_.empty()) throw_without_parts(what);
    if constexpr (S == space::device)
      if (!same_place(ctx, m.home_[0])) throw_elsewhere(what, m.home_[0].device(), ctx.device());
  }
  static index<I> shape_of_part(index<I> shape, int parts, int p) {
    return {static_cast<I>(rows_of_part(shape.row, parts, p)), shape.col};
  }
  static void invert(const context<S>& ctx, const I* slots, std::int64_t rows, I* to) {
    if constexpr (S == space::host)
      cpu::invert_slots<I>(ctx, slots, rows, to);
    else
      gpu::invert_slots<I>(ctx, slots, rows, to);
  }
  static csr<T, I, O, S> as_csr(const context<S>& ctx, coo_view<const T, I, O, S> a) {
    if constexpr (S == space::host)
      return cpu::coo_to_csr<T, I, O>(ctx, a);
    else
      return gpu::coo_to_csr<T, I, O>(ctx, a);
  }
  static coo<T, I, O, S> as_coo(const context<S>& ctx, csr_view<const T, I, O, S> a) {
    if constexpr (S == space::host)
      return cpu::csr_to_coo<T, I, O>(ctx, a);
    else
      return gpu::csr_to_coo<T, I, O>(ctx, a);
  }
  static split_type split(const context<S>& ctx, coo_view<const T, I, O, S> batch,
                          vector_view<const I, S> slots, index<I> shape, int parts, bool by_row) {
    const batch_to_split<T, I> to_split{batch.rowind().data(),
                                        batch.colind().data(),
                                        batch.values().data(),
                                        batch.size(),
                                        slots.data(),
                                        slots.size(),
                                        shape.row,
                                        shape.col,
                                        parts};
    if constexpr (S == space::host)
      return cpu::split_by_part<T, I>(ctx, to_split, by_row);
    else
      return gpu::split_by_part<T, I>(ctx, to_split, by_row);
  }
  /// Part p's share of a batch, where the part is: a view of it, or of copies.
  struct share_of_part {
    array<I, S> rowind, colind;
    array<T, S> values;
    coo_view<const T, I, O, S> view;

    share_of_part(const context<S>& ctx, const split_type& all, const context<S>& there, int p,
                  index<I> shape, facts order) {
      const std::int64_t first = all.starts[static_cast<std::size_t>(p)];
      const std::int64_t size = all.starts[static_cast<std::size_t>(p) + 1] - first;
      const auto get = [&]<class E>(const array<E, S>& from, array<E, S>& copy) -> const E* {
        if (from.empty()) return nullptr;
        if (same_place(ctx, there)) return from.data() + first;
        copy = array<E, S>(there, size);
        copy_between(there, copy.data(), there, from.data() + first, ctx, size);
        return copy.data();
      };
      const I* const rows = get(all.rowind, rowind);
      const I* const cols = get(all.colind, colind);
      view = {get(all.values, values), rows, cols, shape, size, order};
    }
  };

  static matrix make(const context<S>& ctx, index<I> shape, const csr_view<const T, I, O, S>* a,
                     std::vector<context<S>> contexts, const dynamic_csr_options& options) {
    if (contexts.empty()) throw bad_input("dynamic_csr_parts: the list of contexts is empty");
    require_shape("dynamic_csr_parts", shape.row, shape.col, 0);
    matrix m;
    m.shape_ = shape;
    m.contexts_ = std::move(contexts);
    m.home_.push_back(ctx);
    m.slots_ = array<I, S>(ctx, shape.row);
    const int parts = static_cast<int>(m.contexts_.size());
    m.parts_.resize(m.contexts_.size());
    if (a == nullptr) {
      invert(ctx, nullptr, shape.row, m.slots_.data());
      for_each_part(threads_for(m.contexts_), parts, [&](int p) {
        m.parts_[p] = part_type(m.contexts_[p], shape_of_part(shape, parts, p), options);
      });
      return m;
    }
    if constexpr (S == space::host)
      cpu::deal_rows<I, O>(ctx, a->rowptr().data(), shape.row, m.slots_.data());
    else
      gpu::deal_rows<I, O>(ctx, a->rowptr().data(), shape.row, m.slots_.data());
    const auto entries = as_coo(ctx, *a);
    const auto dealt = split(ctx, entries.view(), m.slots_.view(), shape, parts, true);
    if (dealt.outside >= 0) refuse("to_dynamic_csr_parts", shape, entries.view(), dealt.outside);
    const fork forked(ctx, m.contexts_);
    for_each_part(threads_for(m.contexts_), parts, [&](int p) {
      const auto& there = m.contexts_[p];
      const share_of_part share(ctx, dealt, there, p, shape_of_part(shape, parts, p), a->order());
      const auto rows = as_csr(there, share.view);
      const auto view = rows.view();
      m.parts_[p] = make_dynamic<T, I, O, S>(there, view.shape(), &view, options);
    });
    return m;
  }

  /// The batch goes to its parts, or nothing changes; null: it is erased. With more rows or columns
  /// than the matrix has, the matrix becomes that large.
  static update_counts change(const char* what, const context<S>& ctx, matrix& m,
                              coo_view<const T, I, O, S> batch, const insert_options* options) {
    require_home(what, ctx, m);
    const int parts = m.count();
    index<I> shape = m.shape_;
    if (options != nullptr && options->outside == outside::grow)
      shape = {std::max(shape.row, batch.shape().row), std::max(shape.col, batch.shape().col)};
    const bool grows = shape != m.shape_;
    if (batch.size() == 0 && !grows) return {};
    put_in_order(m.home_[0], ctx);
    const split_type dealt = split(ctx, batch, m.slots_.view(), shape, parts, false);
    if (dealt.outside >= 0) refuse(what, shape, batch, dealt.outside);
    array<I, S> slots;
    if (shape.row > m.shape_.row) slots = more_slots(m, shape.row);
    std::vector<dynamic_csr_snapshot<T, I, O, S>> before; // one part fails as a whole
    if (parts > 1)
      for (auto& part : m.parts_) before.push_back(part.snapshot());
    std::vector<update_counts> counts(m.parts_.size());
    fork forked(ctx, m.contexts_);
    try {
      for_each_part(threads_for(m.contexts_), parts, [&](int p) {
        if (dealt.starts[p] == dealt.starts[p + 1] && !grows) return;
        const auto& there = m.contexts_[p];
        const share_of_part share(ctx, dealt, there, p, shape_of_part(shape, parts, p), {});
        counts[p] = options == nullptr
                        ? erase<T, I, O, S>(there, m.parts_[p], share.view)
                        : insert<T, I, O, S>(there, m.parts_[p], share.view, *options);
      });
    } catch (...) {
      for (std::size_t p = 0; p < before.size(); ++p) m.parts_[p].restore(before[p]);
      throw;
    }
    forked.join();
    put_in_order(ctx, m.home_[0]);
    if (shape.row > m.shape_.row) m.slots_ = std::move(slots);
    m.shape_ = shape;
    update_counts sum;
    for (const update_counts& c : counts) {
      sum.inserted += c.inserted;
      sum.changed += c.changed;
      sum.erased += c.erased;
    }
    return sum;
  }
  /// Slots of more rows, which come last: of a new row it is its number.
  static array<I, S> more_slots(const matrix& m, std::int64_t rows) {
    const context<S>& home = m.home_[0];
    array<I, S> slots(home, rows);
    invert(home, nullptr, rows, slots.data());
    copy_bytes(home, slots.data(), m.slots_.data(), m.slots_.bytes(), S);
    return slots;
  }
  [[noreturn]] static void refuse(const char* what, index<I> shape,
                                  coo_view<const T, I, O, S> batch, std::int64_t k) {
    const host_context host;
    const auto row = copy_to(host, vector_view<const I, S>(batch.rowind().data() + k, 1));
    const auto col = copy_to(host, vector_view<const I, S>(batch.colind().data() + k, 1));
    throw_outside(what, {k, row[0], col[0]}, wide(shape));
  }

  static void compact(const context<S>& ctx, matrix& m, const compact_options& options) {
    require_home("compact", ctx, m);
    const fork forked(ctx, m.contexts_);
    for_each_part(threads_for(m.contexts_), m.count(),
                  [&](int p) { lacuna::compact(m.contexts_[p], m.parts_[p], options); });
  }

  static void multiply(const context<S>& ctx, const matrix& m, vector_view<const T, S> x,
                       vector_view<T, S> y) {
    require_home("multiply", ctx, m);
    const std::int64_t rows = m.shape_.row, cols = m.shape_.col;
    require_sizes(wide(m.shape_), x.size(), y.size());
    put_in_order(m.home_[0], ctx);
    array<T, S> results(ctx, rows);
    {
      fork forked(ctx, m.contexts_);
      for (int p = 0; p < m.count(); ++p) {
        const auto& there = m.part_context(p);
        const std::int64_t begin = begin_of_part(rows, m.count(), p), size = m.part(p).shape().row;
        const bool here = same_place(ctx, there);
        array<T, S> x_there, y_there;
        if (!here) {
          x_there = array<T, S>(there, cols);
          y_there = array<T, S>(there, size);
          copy_between(there, x_there.data(), there, x.data(), ctx, cols);
        }
        const dense_view<const T, S> x_of_part(here ? x.data() : x_there.data(), {cols, 1},
                                               layout::column_major);
        const dense_view<T, S> y_of_part(here ? results.data() + begin : y_there.data(), {size, 1},
                                         layout::column_major);
        multiply_format(there, T{1}, m.part(p).view(), x_of_part, T{0},
                        dense_view<const T, S>(y_of_part), y_of_part);
        if (!here) copy_between(there, results.data() + begin, ctx, y_there.data(), there, size);
      }
      forked.join();
    }
    if constexpr (S == space::host)
      cpu::gather_parts<T, I>(ctx, results.data(), m.slots_.data(), rows, m.count(), y.data());
    else
      gpu::gather_parts<T, I>(ctx, results.data(), m.slots_.data(), rows, m.count(), y.data());
    put_in_order(ctx, m.home_[0]);
  }

  static csr<T, I, O, S> to_one(const context<S>& ctx, const matrix& m) {
    require_home("to_csr", ctx, m);
    const O nnz = checked_cast<O>(m.size(), "entries");
    bool unique = true;
    for (const auto& part : m.parts_) unique = unique && part.view().unique;
    put_in_order(m.home_[0], ctx);
    coo<T, I, O, S> all(ctx, m.shape_, nnz, {false, unique});
    std::vector<std::int64_t> first{0};
    for (const auto& part : m.parts_) first.push_back(first.back() + part.size());
    fork forked(ctx, m.contexts_);
    for_each_part(threads_for(m.contexts_), m.count(), [&](int p) {
      const auto& there = m.contexts_[p];
      const auto rows = dynamic_to_csr<T, I, O, S>(there, m.parts_[p].view());
      const auto entries = as_coo(there, rows.view());
      const std::int64_t at = first[p], n = entries.size();
      copy_between(there, all.rowind().data() + at, ctx, entries.rowind().data(), there, n);
      copy_between(there, all.colind().data() + at, ctx, entries.colind().data(), there, n);
      copy_between(there, all.values().data() + at, ctx, entries.values().data(), there, n);
    });
    forked.join();
    array<I, S> row_of_slot(ctx, m.shape_.row);
    invert(ctx, m.slots_.data(), m.shape_.row, row_of_slot.data());
    for (int p = 0; p < m.count(); ++p) {
      I* const rows = all.rowind().data() + first[p];
      const std::int64_t n = first[p + 1] - first[p];
      if constexpr (S == space::host)
        cpu::number_rows<I>(ctx, row_of_slot.data(), m.count(), p, rows, n);
      else
        gpu::number_rows<I>(ctx, row_of_slot.data(), m.count(), p, rows, n);
    }
    // Stable: columns of a row go on ascending.
    auto result = as_csr(ctx, std::as_const(all).view());
    result.state({true, unique});
    put_in_order(ctx, m.home_[0]);
    return result;
  }
};

template <class T, class I, class O, space S>
dynamic_csr_parts<T, I, O, S>
make_parts(const context<S>& ctx, index<I> shape, const csr_view<const T, I, O, S>* a,
           std::vector<context<S>> contexts, const dynamic_csr_options& options) {
  return parts_access<T, I, O, S>::make(ctx, shape, a, std::move(contexts), options);
}

template <class T, class I, class O, space S>
void multiply_parts(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m,
                    vector_view<const T, S> x, vector_view<T, S> y) {
  parts_access<T, I, O, S>::multiply(ctx, m, x, y);
}

} // namespace detail

template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
                     std::type_identity_t<coo_view<const T, I, O, S>> batch,
                     const insert_options& options) {
  return detail::parts_access<T, I, O, S>::change("insert", ctx, m, batch, &options);
}
template <class T, class I, class O, space S>
update_counts erase(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
                    std::type_identity_t<coo_view<const T, I, O, S>> batch) {
  const coo_view<const T, I, O, S> places(nullptr, batch.rowind().data(), batch.colind().data(),
                                          batch.shape(), batch.size());
  return detail::parts_access<T, I, O, S>::change("erase", ctx, m, places, nullptr);
}
template <class T, class I, class O, space S>
void compact(const context<S>& ctx, dynamic_csr_parts<T, I, O, S>& m,
             const compact_options& options) {
  detail::parts_access<T, I, O, S>::compact(ctx, m, options);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const dynamic_csr_parts<T, I, O, S>& m) {
  return detail::parts_access<T, I, O, S>::to_one(ctx, m);
}

#define LACUNA_INSTANTIATE_IN(T, I, O, S)                                                          \
  namespace detail {                                                                               \
  template dynamic_csr_parts<T, I, O, S> make_parts<T, I, O, S>(const context<S>&, index<I>,       \
                                                                const csr_view<const T, I, O, S>*, \
                                                                std::vector<context<S>>,           \
                                                                const dynamic_csr_options&);       \
  template void multiply_parts<T, I, O, S>(const context<S>&,                                      \
                                           const dynamic_csr_parts<T, I, O, S>&,                   \
                                           vector_view<const T, S>, vector_view<T, S>);            \
  }                                                                                                \
  template update_counts insert<T, I, O, S>(const context<S>&, dynamic_csr_parts<T, I, O, S>&,     \
                                            coo_view<const T, I, O, S>, const insert_options&);    \
  template update_counts erase<T, I, O, S>(const context<S>&, dynamic_csr_parts<T, I, O, S>&,      \
                                           coo_view<const T, I, O, S>);                            \
  template void compact<T, I, O, S>(const context<S>&, dynamic_csr_parts<T, I, O, S>&,             \
                                    const compact_options&);                                       \
  template csr<T, I, O, S> to_csr<T, I, O, S>(const context<S>&,                                   \
                                              const dynamic_csr_parts<T, I, O, S>&);
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  LACUNA_INSTANTIATE_IN(T, I, O, space::host)                                                      \
  LACUNA_INSTANTIATE_IN(T, I, O, space::device)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
