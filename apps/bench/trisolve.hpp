// trisolve: y = inv(L) x. L has the pattern of A's lower triangle, a full diagonal and values that
// keep solutions of the size of x, so that every contestant can be judged; times depend on patterns
// alone.
#pragma once

#include "bench/suite.hpp"
#include <lacuna/op/triangular_solve.hpp>

namespace lacuna::bench {

template <class T, space S> class lacuna_triangle : public prepared {
public:
  lacuna_triangle(const context<S>& ctx, const problem<T, S>& p, const triangular_options& options)
      : ctx_(ctx), p_(p), info_(triangular_solve_inspect(ctx, p.a, lower_triangle,
                                                         explicit_diagonal, x(), y(), options)) {}
  void run() override {
    triangular_solve(ctx_, info_, p_.a, lower_triangle, explicit_diagonal, x(), y());
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return info_.bytes(); }
  [[nodiscard]] choice explain() const override { return {{}, info_.explain()}; }

private:
  [[nodiscard]] vector_view<const T, S> x() const { return {p_.x.data(), p_.x.shape().row}; }
  [[nodiscard]] vector_view<T, S> y() const { return {p_.y.data(), p_.y.shape().row}; }

  context<S> ctx_;
  problem<T, S> p_;
  operation_info_t info_;
};

template <class T, space S>
std::vector<contestant<T, S>> triangle_contestants(const context<S>& ctx) {
  const auto entry = [&](const char* name, role plays, triangular_options options) {
    return contestant<T, S>{name, plays, {suite::trisolve}, [ctx, options](const problem<T, S>& p) {
                              return std::make_unique<lacuna_triangle<T, S>>(ctx, p, options);
                            }};
  };
  std::vector<contestant<T, S>> result = {
      entry("Lacuna", role::lacuna, {.values_stay = true}),
      entry("Lacuna: values fetched", role::lacuna_too, {}),
      entry("Lacuna: levels", role::candidate,
            {.values_stay = true, .schedule = triangular_schedule::levels})};
  if (S == space::device)
    result.push_back(entry("Lacuna: waiting", role::candidate,
                           {.values_stay = true, .schedule = triangular_schedule::waiting}));
  else
    result.push_back(entry("Lacuna: serial", role::candidate,
                           {.values_stay = true, .schedule = triangular_schedule::serial}));
  return result;
}

namespace detail {

/// The diagonal is 1, entries beside it are of alternating sign and add up to 1/2 in size.
template <class T> csr<T> lower_triangle_of(const host_context& ctx, const csr<T>& a) {
  const std::int64_t n = a.shape().row;
  std::int64_t entries = n;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) entries += a.colind()[k] < i;
  csr<T> l(ctx, a.shape(), static_cast<offset_t>(entries), a.order());
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = at;
    l.rowptr()[i] = static_cast<offset_t>(begin);
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      if (a.colind()[k] < i) l.colind()[at++] = a.colind()[k];
    for (std::int64_t k = begin; k < at; ++k)
      l.values()[k] = static_cast<T>((k % 2 == 0 ? 0.5 : -0.5) / static_cast<double>(at - begin));
    l.colind()[at] = static_cast<index_t>(i);
    l.values()[at++] = 1;
  }
  l.rowptr()[n] = static_cast<offset_t>(at);
  return l;
}

/// Substitution in double. Errors grow at most by the norm of the inverse, which is 2.
template <class T>
reference::expected substituted(const csr<T>& l, vector_view<const T> x, std::int64_t longest) {
  reference::expected e;
  double largest = 0;
  for (std::int64_t i = 0; i < l.shape().row; ++i) {
    double rest = double{x[i]};
    for (std::int64_t k = l.rowptr()[i]; k + 1 < l.rowptr()[i + 1]; ++k)
      rest -= double{l.values()[k]} * e.value[static_cast<std::size_t>(l.colind()[k])];
    e.value.push_back(rest);
    largest = std::max(largest, std::abs(rest));
  }
  e.bound.assign(e.value.size(), 2 * static_cast<double>(longest + 8) *
                                     std::numeric_limits<T>::epsilon() * largest);
  return e;
}

} // namespace detail

template <space S>
void run_trisolve(const rig<S>& r, const host_context& host, const settings& s,
                  const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                  report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    if (on.facts().rows != on.facts().cols)
      return out.skip(on.facts().matrix, "not square, so it has no triangle to solve with");
    auto contestants = triangle_contestants<T, S>(r.ctx);
    for (auto& each : peers.template contestants<T>()) contestants.push_back(std::move(each));
    const csr<T> l = detail::lower_triangle_of(host, on.on_host());
    matrix_source source;
    source.name = on.facts().matrix;
    const stage<T, S> triangle(r, host, source, l);
    measured_problem m = triangle.facts();
    array<T> x_host(host, m.rows);
    app::fill_vector(x_host.view(), s.seed);
    const auto expected = detail::substituted<T>(l, std::as_const(x_host).view(), m.longest_row);
    const auto levels =
        triangular_solve_inspect(host, l, lower_triangle, explicit_diagonal, x_host, x_host);
    if (const auto* kept =
            lacuna::detail::found_in<lacuna::detail::triangular_inspection<T, space::host>>(
                levels, "trisolve")) {
      m.levels = kept->pattern.statistics.levels;
      m.widest_level = kept->pattern.statistics.widest;
    }
    const auto x = copy_to(r.ctx, x_host);
    array<T, S> y(r.ctx, m.rows);
    const index<std::int64_t> shape{m.rows, 1};
    const problem<T, S> p{suite::trisolve, triangle.matrix(),
                          dense_view<const T, S>(x.data(), shape, layout::column_major),
                          dense_view<T, S>(y.data(), shape, layout::column_major)};
    m.bytes = p.bytes();
    m.flops = p.flops();
    detail::compete(r, p, contestants, expected, m);
    out.add(std::move(m));
  });
}

} // namespace lacuna::bench
