// Plans in parts: rows cut into ranges, what travels to each part and back.
#include <lacuna/plan/parts.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "op/part_contexts.hpp"
#include "op/row_range_views.hpp"

namespace lacuna {

template <class T, class I, class O, space S> struct planned_parts<T, I, O, S>::state {
  struct part {
    detail::row_range rows;
    bool here = true; ///< reads x and writes y where they are
    /// Of a part that looks at the matrix; before the plan, which reads it.
    std::optional<detail::viewed_rows<T, I, O, S>> viewed;
    std::optional<planned_operator<T, I, O, S>> plan;
  };
  context<S> home;
  std::vector<context<S>> contexts; // before the parts, whose memory is theirs
  index<I> shape;
  std::int64_t entries = 0;
  std::vector<part> parts;
};

template <class T, class I, class O, space S>
planned_parts<T, I, O, S>::planned_parts(const context<S>& ctx, std::vector<context<S>> contexts,
                                         csr_view<const T, I, O, S> a, const plan_hints& hints,
                                         const parts_options& options) {
  if (contexts.empty()) throw bad_input("plan_on: the list of contexts is empty");
  const int n = static_cast<int>(contexts.size());
  const detail::rows_to_cut<I, O> rows{a.rowptr().data(), a.colind().data(), nullptr, a.shape().row,
                                       a.size()};
  state_.reset(new state{ctx, std::move(contexts), a.shape(), a.size(), {}});
  state& s = *state_;
  s.parts.resize(s.contexts.size());
  const std::vector<detail::row_range> ranges = detail::cut_rows<I, O, S>(ctx, rows, n);
  detail::fork<S> forked(ctx, s.contexts);
  detail::for_each_part(detail::threads_for(s.contexts), n, [&](int k) {
    const auto& there = s.contexts[static_cast<std::size_t>(k)];
    auto& part = s.parts[static_cast<std::size_t>(k)];
    part.rows = ranges[static_cast<std::size_t>(k)];
    part.here = detail::same_place(ctx, there) && !options.copy_always;
    if (part.here) {
      part.viewed.emplace(there, a, part.rows);
      part.plan.emplace(there, part.viewed->a, hints);
    } else {
      part.plan.emplace(there, detail::copied_rows(ctx, a, part.rows, there), hints);
    }
  });
  forked.join();
}

template <class T, class I, class O, space S>
planned_parts<T, I, O, S>::planned_parts(planned_parts&&) noexcept = default;
template <class T, class I, class O, space S>
planned_parts<T, I, O, S>& planned_parts<T, I, O, S>::operator=(planned_parts&&) noexcept = default;
template <class T, class I, class O, space S> planned_parts<T, I, O, S>::~planned_parts() = default;

template <class T, class I, class O, space S>
void planned_parts<T, I, O, S>::multiply_parts(const context<S>& ctx, dense_view<const T, S> x,
                                               dense_view<T, S> y) const {
  const state& s = *state_;
  const std::int64_t cols = s.shape.col, columns = x.shape().col;
  detail::require_same_size("multiply", "x", x.shape().row, "columns of the operator", cols);
  detail::require_same_size("multiply", "y", y.shape().row, "rows of the operator", s.shape.row);
  detail::require_same_size("multiply", "columns of X", columns, "columns of Y", y.shape().col);
  detail::require_apart<T>("multiply", "x", x.data(), x.extent(), "y", y.data(), y.extent());
  if (!detail::same_place(ctx, s.home))
    throw bad_input("multiply: the plan in parts was made on another device than the context's");
  if (columns == 0) return;
  if (x.row_stride() != 1 || y.row_stride() != 1)
    throw unsupported("multiply: a plan in parts takes vectors and column-major matrices");
  struct travelling {
    array<T, S> x, y;
  };
  std::vector<travelling> copies(s.parts.size()); // all before anything is written
  for (std::size_t k = 0; k < s.parts.size(); ++k) {
    const std::int64_t rows = s.parts[k].rows.last - s.parts[k].rows.first;
    if (rows > 0 && !s.parts[k].here)
      copies[k] = {array<T, S>(s.contexts[k], cols * columns),
                   array<T, S>(s.contexts[k], rows * columns)};
  }
  detail::fork<S> forked(ctx, s.contexts);
  for (std::size_t k = 0; k < s.parts.size(); ++k) {
    const auto& there = s.contexts[k];
    const auto& part = s.parts[k];
    const auto [first, last, begin, end, low, high] = part.rows;
    const std::int64_t rows = last - first;
    if (rows == 0) continue;
    const auto column = layout::column_major;
    if (part.here) {
      const dense_view<T, S> y_here(y.data() + first, {rows, columns}, y.layout(), y.ld());
      part.plan->multiply(there, 1, x, 0, dense_view<const T, S>(y_here), y_here);
      continue;
    }
    auto& [x_there, y_there] = copies[k];
    for (std::int64_t j = 0; j < columns; ++j)
      detail::copy_between(there, x_there.data() + j * cols + low, there,
                           x.data() + j * x.col_stride() + low, ctx, high - low);
    const dense_view<T, S> made(y_there.data(), {rows, columns}, column);
    part.plan->multiply(there, 1, dense_view<const T, S>(x_there.data(), {cols, columns}, column),
                        0, dense_view<const T, S>(made), made);
    for (std::int64_t j = 0; j < columns; ++j)
      detail::copy_between(there, y.data() + j * y.col_stride() + first, ctx,
                           std::as_const(y_there).data() + j * rows, there, rows);
  }
  forked.join();
}

template <class T, class I, class O, space S>
void planned_parts<T, I, O, S>::update(csr_view<const T, I, O, S> from) {
  state& s = *state_;
  detail::fork<S> forked(s.home, s.contexts);
  for (std::size_t k = 0; k < s.parts.size(); ++k) {
    const auto& there = s.contexts[k];
    auto& part = s.parts[k];
    if (part.here) {
      detail::viewed_rows<T, I, O, S> viewed(there, from, part.rows);
      part.plan->update_values(viewed.a);
      part.viewed.emplace(std::move(viewed));
    } else {
      part.plan->update_values(detail::copied_rows(s.home, from, part.rows, there));
    }
  }
  forked.join();
}

template <class T, class I, class O, space S>
index<std::int64_t> planned_parts<T, I, O, S>::shape() const {
  return {state_->shape.row, state_->shape.col};
}
template <class T, class I, class O, space S> std::int64_t planned_parts<T, I, O, S>::size() const {
  return state_->entries;
}
template <class T, class I, class O, space S> int planned_parts<T, I, O, S>::count() const {
  return static_cast<int>(state_->parts.size());
}
template <class T, class I, class O, space S>
const planned_operator<T, I, O, S>& planned_parts<T, I, O, S>::part(int p) const {
  return *state_->parts[static_cast<std::size_t>(p)].plan;
}
template <class T, class I, class O, space S>
std::int64_t planned_parts<T, I, O, S>::first_row(int p) const {
  return state_->parts[static_cast<std::size_t>(p)].rows.first;
}
template <class T, class I, class O, space S>
std::string planned_parts<T, I, O, S>::format() const {
  std::vector<std::string> formats;
  for (const auto& part : state_->parts)
    if (std::find(formats.begin(), formats.end(), part.plan->format()) == formats.end())
      formats.push_back(part.plan->format());
  return fmt::format("{} in {} parts", fmt::join(formats, ", "), count());
}
template <class T, class I, class O, space S> std::size_t planned_parts<T, I, O, S>::bytes() const {
  std::size_t sum = 0;
  for (const auto& part : state_->parts)
    sum += part.plan->bytes() + (part.viewed ? part.viewed->rowptr.bytes() : 0);
  return sum;
}
template <class T, class I, class O, space S>
std::string planned_parts<T, I, O, S>::explain() const {
  std::string text;
  for (int p = 0; p < count(); ++p) {
    const auto& rows = state_->parts[static_cast<std::size_t>(p)].rows;
    text += fmt::format("part {}: rows {} to {}, {} entries in columns {} to {}\n{}", p, rows.first,
                        rows.last - 1, rows.end - rows.begin, rows.low, rows.high - 1,
                        part(p).explain());
  }
  return text;
}
template <class T, class I, class O, space S>
const context<S>& planned_parts<T, I, O, S>::where() const {
  return state_->home;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template class planned_parts<T, I, O, space::host>;                                              \
  template class planned_parts<T, I, O, space::device>;
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
