// add, add-t, transpose and spgemm: contests whose result is a sparse matrix. Memory for it is
// allocated and let go in every run, by every contestant. Results are judged by their product with
// a vector.
#pragma once

#include <optional>

#include "bench/suite.hpp"
#include <lacuna/op/add.hpp>
#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna::bench {

/// How Lacuna is asked for a product; thresholds are the machine's unless given here.
struct spgemm_way {
  spgemm_method method = spgemm_method::adaptive;
  spgemm_order order = spgemm_order::of_a;
  std::optional<spgemm_thresholds> thresholds = {};
};

template <class T, space S> class lacuna_result : public prepared {
public:
  lacuna_result(const context<S>& ctx, const problem<T, S>& p, const spgemm_way& way = {})
      : ctx_(ctx), p_(p), way_(way) {}
  void run() override {
    switch (p_.what) {
    case suite::add: c_ = add(ctx_, p_.a, p_.b); break;
    case suite::add_t: c_ = add(ctx_, p_.a, transposed(p_.a)); break;
    case suite::spgemm: c_ = multiply(ctx_, p_.a, p_.b, options()); break;
    default: c_ = transpose(ctx_, p_.a);
    }
  }
  void fetch() override {
    multiply(ctx_, c_, vector_view<const T, S>(p_.x.data(), p_.x.shape().row),
             vector_view<T, S>(p_.y.data(), p_.y.shape().row));
    ctx_.synchronize();
  }
  void forget() override { c_ = {}; }

private:
  [[nodiscard]] spgemm_options options() const {
    spgemm_options o;
    o.method = way_.method;
    o.order = way_.order;
    if (way_.thresholds) o.thresholds = &*way_.thresholds;
    return o;
  }

  context<S> ctx_;
  problem<T, S> p_;
  spgemm_way way_;
  csr<T, index_t, offset_t, S> c_;
};

template <class T, space S>
contestant<T, S> spgemm_contestant(const std::string& name, role plays, const context<S>& ctx,
                                   const spgemm_way& way) {
  return {name, plays, {suite::spgemm}, [=](const problem<T, S>& p) {
            return std::make_unique<lacuna_result<T, S>>(ctx, p, way);
          }};
}

/// Lacuna's lines; the relaxed order is a device's.
template <class T, space S>
std::vector<contestant<T, S>> result_contestants(const context<S>& ctx) {
  std::vector<contestant<T, S>> result = {
      {"Lacuna", role::lacuna, matrix_suites,
       [ctx](const problem<T, S>& p) { return std::make_unique<lacuna_result<T, S>>(ctx, p); }}};
  if (S == space::device)
    result.push_back(spgemm_contestant<T, S>("Lacuna: relaxed", role::lacuna_too, ctx,
                                             {.order = spgemm_order::relaxed}));
  result.push_back(spgemm_contestant<T, S>("Lacuna: expand-sort", role::lacuna_too, ctx,
                                           {.method = spgemm_method::expand_sort}));
  return result;
}

namespace detail {

/// Every column moved by one, the last becoming the first: as many entries, elsewhere.
template <class T> csr<T> moved(const host_context& ctx, const csr<T>& a) {
  csr<T> result = copy_to(ctx, a);
  for (index_t& j : result.colind()) j = j + 1 == a.shape().col ? 0 : j + 1;
  result.state({false, a.order().unique});
  sort(ctx, result);
  return result;
}

inline void add_to(reference::expected& sum, const reference::expected& other) {
  for (std::size_t i = 0; i < sum.value.size(); ++i) {
    sum.value[i] += other.value[i];
    sum.bound[i] += other.bound[i];
  }
}

/// A (B x), and what rounding may do to the product of x with C = A B whose entries are sums in any
/// order: (n + 8) eps |A| (|B| |x|), n the most terms on the way to a row, by C or by B x.
template <class T>
reference::expected product_with(const csr<T>& a, const csr<T>& b, vector_view<const T> x) {
  struct sum {
    double value = 0, size = 0;
  };
  std::int64_t longest = 0;
  std::vector<sum> middle(static_cast<std::size_t>(b.shape().row));
  for (std::int64_t i = 0; i < b.shape().row; ++i) {
    longest = std::max<std::int64_t>(longest, b.rowptr()[i + 1] - b.rowptr()[i]);
    for (std::int64_t k = b.rowptr()[i]; k < b.rowptr()[i + 1]; ++k) {
      const double term = double{b.values()[k]} * double{x[b.colind()[k]]};
      middle[i].value += term;
      middle[i].size += std::abs(term);
    }
  }
  reference::expected result;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    sum all;
    std::int64_t products = 0;
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
      const std::int64_t j = a.colind()[k];
      all.value += double{a.values()[k]} * middle[j].value;
      all.size += std::abs(double{a.values()[k]}) * middle[j].size;
      products += b.rowptr()[j + 1] - b.rowptr()[j];
    }
    const std::int64_t in_row = a.rowptr()[i + 1] - a.rowptr()[i];
    const auto terms =
        static_cast<double>(in_row + longest + std::min<std::int64_t>(products, b.shape().col) + 8);
    result.value.push_back(all.value);
    result.bound.push_back(terms * std::numeric_limits<T>::epsilon() * all.size);
  }
  return result;
}

/// C x.
template <class T>
reference::expected expected_of(suite what, const csr<T>& a, const csr<T>& b,
                                vector_view<const T> x) {
  const auto times = [x](const csr<T>& m, bool is_transposed) {
    return reference::multiply<T, index_t, offset_t>(m.view(), x, is_transposed);
  };
  if (what == suite::spgemm) return product_with(a, b, x);
  if (what == suite::transpose) return times(a, true);
  auto sum = times(a, false);
  add_to(sum, what == suite::add ? times(b, false) : times(a, true));
  return sum;
}

/// Entries of C. Throws unsupported if there is no C, or one beyond 32-bit offsets.
template <class T, space S>
std::int64_t count_result(const context<S>& ctx, suite what, problem_matrix<T, S> a,
                          problem_matrix<T, S> b) {
  switch (what) {
  case suite::add: return add_inspect(ctx, a, b).nnz();
  case suite::add_t:
    if (a.shape().row != a.shape().col) throw unsupported("not square: there is no A + A^T");
    return add_inspect(ctx, a, transposed(a)).nnz();
  case suite::spgemm: return multiply_compute(ctx, a, b).nnz();
  default: return a.size();
  }
}

} // namespace detail

/// The matrix B of add and spgemm, where it is not A itself. Empty otherwise.
template <class T> csr<T> other_operand(const host_context& host, suite what, const csr<T>& a) {
  if (what == suite::add) return detail::moved(host, a);
  if (what == suite::spgemm && a.shape().row != a.shape().col) return transpose(host, a);
  return {};
}

/// A stage with B: what contests of matrix results, and more than one of them, run on.
template <class T, space S> class result_stage {
public:
  /// Throws unsupported if there is no result, or one beyond 32-bit offsets.
  result_stage(const rig<S>& r, const host_context& host, const stage<T, S>& on, suite what)
      : rig_(r), host_(host), on_(on), what_(what),
        b_host_(other_operand(host, what, on.on_host())), b_(copy_to(r.ctx, b_host_)),
        entries_(detail::count_result<T, S>(r.ctx, what, on.matrix(), b())) {}

  [[nodiscard]] problem_matrix<T, S> a() const { return on_.matrix(); }
  [[nodiscard]] problem_matrix<T, S> b() const { return has_b() ? b_.view() : on_.matrix(); }
  /// A and B on the host, whatever multiplies them.
  [[nodiscard]] std::pair<const csr<T>&, const csr<T>&> on_host() const {
    return {on_.on_host(), has_b() ? b_host_ : on_.on_host()};
  }

  [[nodiscard]] measured_problem measure(std::uint64_t seed,
                                         const std::vector<contestant<T, S>>& contestants) const {
    const auto [left, right] = on_host();
    const std::int64_t rows = what_ == suite::transpose ? left.shape().col : left.shape().row;
    const std::int64_t cols = what_ == suite::transpose ? left.shape().row : right.shape().col;
    array<T> x_host(host_, cols);
    app::fill_vector(x_host.view(), seed);
    const auto expected = detail::expected_of<T>(what_, left, right, std::as_const(x_host).view());
    const array<T, S> x = copy_to(rig_.ctx, x_host);
    array<T, S> y(rig_.ctx, rows);
    const problem<T, S> p{what_,
                          a(),
                          {x.data(), {cols, 1}, layout::column_major},
                          {y.data(), {rows, 1}, layout::column_major},
                          what_ == suite::add || what_ == suite::spgemm ? b()
                                                                        : problem_matrix<T, S>()};
    measured_problem m = on_.facts();
    m.operand_bytes = static_cast<double>(left.bytes() + b_host_.bytes());
    m.result_bytes = static_cast<double>(entries_) * (sizeof(T) + sizeof(index_t)) +
                     static_cast<double>(rows + 1) * sizeof(offset_t);
    m.entries = entries_;
    m.bytes = m.operand_bytes + m.result_bytes;
    if (what_ == suite::spgemm) m.products = estimate(host_, left, right).products;
    m.flops = what_ == suite::spgemm      ? 2 * static_cast<double>(m.products)
              : what_ == suite::transpose ? 0
                                          : static_cast<double>(entries_);
    detail::compete(rig_, p, contestants, expected, m);
    return m;
  }

private:
  [[nodiscard]] bool has_b() const { return b_host_.rowptr().size() > 0; }

  const rig<S>& rig_;
  const host_context& host_;
  const stage<T, S>& on_;
  suite what_;
  csr<T> b_host_;
  csr<T, index_t, offset_t, S> b_;
  std::int64_t entries_;
};

template <space S>
void run_matrix_suite(const rig<S>& r, const host_context& host, const settings& s,
                      const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                      report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    auto contestants = result_contestants<T, S>(r.ctx);
    for (auto& each : peers.template contestants<T>()) contestants.push_back(std::move(each));
    try {
      out.add(result_stage<T, S>(r, host, on, s.what).measure(s.seed, contestants));
    } catch (const unsupported& e) {
      out.skip(on.facts().matrix, e.what());
    }
  });
}

} // namespace lacuna::bench
