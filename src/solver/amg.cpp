#include <lacuna/solver/amg.hpp>

#include <fmt/format.h>

#include "solver/amg_hierarchy.hpp"
#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

namespace lacuna {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw bad_input(fmt::format("amg: {}", what));
}

void check_options(const amg_options& o) {
  require(o.strength <= 1, "strength is at most 1");
  require(o.unknowns_per_node >= 1, "unknowns_per_node is at least 1");
  require(o.degree >= 1 && o.degree <= 20, "degree is 1 to 20");
  require(o.chebyshev_lower > 0 && o.chebyshev_lower < 1, "chebyshev_lower lies within (0, 1)");
  require(o.pre_sweeps >= 0 && o.post_sweeps >= 0, "sweeps are not negative");
  require(o.most_levels >= 1, "most_levels is at least 1");
  require(o.coarse_rows >= 1 && o.coarse_rows <= 4096, "coarse_rows is 1 to 4096");
  require(o.planned_entries >= 0, "planned_entries is not negative");
  require(o.relaxation > 0 && o.prolongator_relaxation >= 0, "relaxation is positive");
}

template <class T, space S> void fill_report(detail::amg_hierarchy<T, S>& h) {
  amg_report& r = h.report;
  r.levels.clear();
  r.bytes = 0;
  double rows = 0, entries = 0;
  for (const auto& l : h.levels) {
    amg_level_report one;
    one.rows = l.rows();
    one.entries = l.a.size();
    one.prolongator_entries = l.p.size();
    one.format = l.inverse.size() > 0 ? "dense" : l.op ? l.op->format() : "csr";
    one.bytes = l.bytes();
    one.spectral_radius = l.spectral_radius;
    one.colours = l.colours.empty() ? 0 : static_cast<int>(l.colours.size()) - 1;
    rows += static_cast<double>(one.rows);
    entries += static_cast<double>(one.entries);
    r.bytes += one.bytes;
    r.levels.push_back(std::move(one));
  }
  const auto& finest = r.levels.front();
  r.grid_complexity = finest.rows == 0 ? 1 : rows / static_cast<double>(finest.rows);
  r.operator_complexity = finest.entries == 0 ? 1 : entries / static_cast<double>(finest.entries);
}

} // namespace

namespace detail {
template <class T, space S> std::size_t amg_level<T, S>::bytes() const {
  std::size_t sum = own.bytes() + (op ? op->bytes() : 0) + p.bytes() + r.bytes() +
                    tentative.bytes() + smoothing.bytes() + strong.bytes() + sums.bytes() +
                    product.bytes();
  for (const auto* v : {&near, &diagonal, &scale, &inverse, &x, &b, &residual, &direction, &first,
                        &second, &product_1, &product_2, &rest, &scalars})
    sum += v->bytes();
  for (const auto* v : {&aggregate, &coarse, &number, &list_at, &list, &count, &coloured_rows})
    sum += v->bytes();
  return sum;
}
} // namespace detail

template <class T, space S> struct amg<T, S>::state : detail::amg_hierarchy<T, S> {
  owner kept; ///< the finest matrix, where it is not the caller's

  /// A with sorted, unique rows: itself, or a copy that is kept.
  matrix_view sorted(const context<S>& ctx, matrix_view a) {
    detail::require_same_size("amg", "rows of A", a.shape().row, "columns of A", a.shape().col);
    if (a.order().sorted && a.order().unique) return a;
    kept = merge_duplicates(ctx, copy_to(ctx, a));
    return std::as_const(kept).view();
  }
};

template <class T, space S>
amg<T, S>::amg(amg_options options) : state_(std::make_unique<state>()) {
  check_options(options);
  state_->options = std::move(options);
}
template <class T, space S> amg<T, S>::amg(amg&&) noexcept = default;
template <class T, space S> amg<T, S>& amg<T, S>::operator=(amg&&) noexcept = default;
template <class T, space S> amg<T, S>::~amg() = default;

template <class T, space S> void amg<T, S>::set_up(const context<S>& ctx, matrix_view a) {
  detail::amg_build<T, S>(ctx, *state_, state_->sorted(ctx, a));
  fill_report<T, S>(*state_);
}
template <class T, space S> void amg<T, S>::set_up(const context<S>& ctx, owner&& a) {
  state_->kept = std::move(a);
  set_up(ctx, std::as_const(state_->kept).view());
}
template <class T, space S> void amg<T, S>::update(const context<S>& ctx, matrix_view a) {
  if (!a.order().sorted || !a.order().unique)
    return update(ctx, merge_duplicates(ctx, copy_to(ctx, a)));
  const auto& before = state_->levels.front().a;
  detail::require_same_size("amg::update_values", "rows of A", a.shape().row, "rows as set up",
                            before.shape().row);
  detail::require_same_size("amg::update_values", "columns of A", a.shape().col,
                            "columns as set up", before.shape().col);
  detail::require_same_size("amg::update_values", "entries of A", a.size(), "entries as set up",
                            before.size());
  const amg_seconds of_set_up = state_->report.seconds;
  double seconds = 0;
  {
    const detail::amg_stopwatch watch(seconds);
    detail::amg_rebuild<T, S>(ctx, *state_, a);
  }
  fill_report<T, S>(*state_);
  state_->report.seconds = of_set_up;
  state_->report.update_seconds = seconds;
}
template <class T, space S> void amg<T, S>::update(const context<S>& ctx, owner&& a) {
  owner taken = std::move(a);
  if (!taken.order().sorted || !taken.order().unique) taken = merge_duplicates(ctx, taken);
  update(ctx, std::as_const(taken).view());
  state_->kept = std::move(taken); // its arrays stay where they are
}

template <class T, space S> std::int64_t amg<T, S>::size() const {
  return state_->levels.front().rows();
}
template <class T, space S>
void amg<T, S>::apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const {
  detail::require_same_size("amg", "r", r.size(), "rows of A", size());
  detail::require_same_size("amg", "z", z.size(), "rows of A", size());
  detail::amg_apply<T, S>(ctx, *state_, r, z);
}
template <class T, space S>
void amg<T, S>::multiply(const context<S>& ctx, vector_view<const T, S> x,
                         vector_view<T, S> y) const {
  detail::require_same_size("amg", "x", x.size(), "columns of A", size());
  detail::require_same_size("amg", "y", y.size(), "rows of A", size());
  detail::amg_multiply<T, S>(ctx, state_->levels.front(), 1, x, 0, y, y);
}
template <class T, space S> std::string amg<T, S>::name() const {
  return state_->options.kind == amg_kind::classical ? "classical amg" : "amg";
}
template <class T, space S> std::size_t amg<T, S>::bytes() const {
  return state_->report.bytes + state_->kept.bytes();
}
template <class T, space S> bool amg<T, S>::is_linear() const {
  return state_->options.cycle != amg_cycle::k || state_->levels.size() < 3;
}
template <class T, space S> bool amg<T, S>::is_symmetric() const {
  return is_linear() && state_->options.pre_sweeps == state_->options.post_sweeps;
}
template <class T, space S> const amg_report& amg<T, S>::report() const { return state_->report; }
template <class T, space S> std::string amg<T, S>::explain() const {
  return detail::explain_amg(name(), state_->report);
}
template <class T, space S> std::string amg<T, S>::json() const {
  return detail::amg_as_json(name(), state_->report);
}

template <class T, space S> int amg<T, S>::levels() const {
  return static_cast<int>(state_->levels.size());
}
template <class T, space S> auto amg<T, S>::matrix(int level) const -> matrix_view {
  return state_->levels.at(static_cast<std::size_t>(level)).a;
}
template <class T, space S> auto amg<T, S>::prolongator(int level) const -> matrix_view {
  return state_->levels.at(static_cast<std::size_t>(level)).p.view();
}
template <class T, space S> auto amg<T, S>::restriction(int level) const -> matrix_view {
  return state_->levels.at(static_cast<std::size_t>(level)).r.view();
}
template <class T, space S>
vector_view<const std::int32_t, S> amg<T, S>::aggregates(int level) const {
  const auto& l = state_->levels.at(static_cast<std::size_t>(level));
  return l.aggregate.view();
}
template <class T, space S> vector_view<const T, S> amg<T, S>::near_null_space(int level) const {
  const auto& l = state_->levels.at(static_cast<std::size_t>(level));
  return l.near.view();
}

template <space S>
amg_mixed<S>::amg_mixed(const context<S>& ctx, amg<float, S> hierarchy)
    : hierarchy_(std::move(hierarchy)), r_(ctx, hierarchy_.size()), z_(ctx, hierarchy_.size()) {}
template <space S>
void amg_mixed<S>::apply(const context<S>& ctx, vector_view<const double, S> r,
                         vector_view<double, S> z) const {
  detail::require_same_size("amg", "r", r.size(), "rows of A", size());
  detail::require_same_size("amg", "z", z.size(), "rows of A", size());
  detail::amg_each(ctx, r.size(),
                   detail::amg_rows::convert_values<double, float>{r.data(), r_.data()});
  hierarchy_.apply(ctx, r_, z_);
  detail::amg_each(ctx, z.size(),
                   detail::amg_rows::convert_values<float, double>{z_.data(), z.data()});
}
template <space S> std::size_t amg_mixed<S>::bytes() const {
  return hierarchy_.bytes() + r_.bytes() + z_.bytes();
}

std::vector<double> rigid_body_modes(const std::vector<double>& coordinates, int dimensions) {
  if (dimensions != 2 && dimensions != 3)
    throw bad_input(
        fmt::format("rigid_body_modes: {} dimensions; there are modes of 2 and 3", dimensions));
  const auto d = static_cast<std::size_t>(dimensions);
  if (coordinates.size() % d != 0)
    throw bad_input(fmt::format("rigid_body_modes: {} coordinates are no points of {} dimensions",
                                coordinates.size(), dimensions));
  const std::size_t points = coordinates.size() / d, rows = coordinates.size();
  // Rotations about the centre, of the size of translations: vectors far from parallel.
  std::vector<double> centre(d, 0.0);
  for (std::size_t k = 0; k < rows; ++k) centre[k % d] += coordinates[k] / double(points);
  double extent = 0;
  for (std::size_t k = 0; k < rows; ++k)
    extent = std::max(extent, std::abs(coordinates[k] - centre[k % d]));
  if (extent == 0) extent = 1;
  std::vector<double> modes;
  const auto mode = [&] { // a new one, of zeros
    modes.resize(modes.size() + rows, 0.0);
    return modes.data() + (modes.size() - rows);
  };
  for (std::size_t c = 0; c < d; ++c) {
    double* const m = mode();
    for (std::size_t p = 0; p < points; ++p) m[p * d + c] = 1;
  }
  for (std::size_t c = 0; c < d; ++c)
    for (std::size_t e = c + 1; e < d; ++e) {
      double* const m = mode();
      for (std::size_t p = 0; p < points; ++p) {
        m[p * d + c] = -(coordinates[p * d + e] - centre[e]) / extent;
        m[p * d + e] = (coordinates[p * d + c] - centre[c]) / extent;
      }
    }
  return modes;
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template class amg<T, space::host>;                                                              \
  template class amg<T, space::device>;
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
template class amg_mixed<space::host>;
template class amg_mixed<space::device>;

} // namespace lacuna
