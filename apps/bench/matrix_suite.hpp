// add and transpose: contests whose result is a sparse matrix. Memory for it is allocated in every
// run, by every contestant. Results are judged by their product with a vector.
#pragma once

#include "bench/suite.hpp"
#include <lacuna/op/add.hpp>

namespace lacuna::bench {

template <class T, space S> class lacuna_result : public prepared {
public:
  lacuna_result(const context<S>& ctx, const problem<T, S>& p) : ctx_(ctx), p_(p) {}
  void run() override {
    c_ = {}; // not two results at once
    c_ = p_.what == suite::add ? add(ctx_, p_.a, p_.b) : transpose(ctx_, p_.a);
  }
  void fetch() override {
    multiply(ctx_, c_, vector_view<const T, S>(p_.x.data(), p_.x.shape().row),
             vector_view<T, S>(p_.y.data(), p_.y.shape().row));
    ctx_.synchronize();
  }

private:
  context<S> ctx_;
  problem<T, S> p_;
  csr<T, index_t, offset_t, S> c_;
};

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

template <class T, space S>
measured_problem measure_result(const rig<S>& r, const host_context& host, const stage<T, S>& on,
                                const settings& s,
                                const std::vector<contestant<T, S>>& contestants) {
  const bool turns = s.what == suite::transpose;
  const csr<T>& a = on.on_host();
  csr<T> b_host;
  if (!turns) b_host = moved(host, a);
  const auto b = copy_to(r.ctx, b_host);
  array<T> x_host(host, turns ? a.shape().row : a.shape().col);
  app::fill_vector(x_host.view(), s.seed);
  const vector_view<const T> x_read = x_host.view();
  auto expected = reference::multiply<T, index_t, offset_t>(a.view(), x_read, turns);
  if (!turns)
    add_to(expected,
           reference::multiply<T, index_t, offset_t>(std::as_const(b_host).view(), x_read));
  const array<T, S> x = copy_to(r.ctx, x_host);
  array<T, S> y(r.ctx, turns ? a.shape().col : a.shape().row);
  const problem<T, S> p{s.what,
                        on.matrix(),
                        {x.data(), {x.size(), 1}, layout::column_major},
                        {y.data(), {y.size(), 1}, layout::column_major},
                        b.view()};
  measured_problem m = on.facts();
  const auto of = [&](std::int64_t rows, std::int64_t entries) {
    return static_cast<double>(entries) * (sizeof(T) + sizeof(index_t)) +
           static_cast<double>(rows + 1) * sizeof(offset_t);
  };
  // A, B and C, each once.
  const std::int64_t in_c = turns ? a.size() : add_compute(host, a, b_host).nnz();
  m.bytes = static_cast<double>(a.bytes()) + static_cast<double>(b_host.bytes()) +
            of(turns ? a.shape().col : a.shape().row, in_c);
  m.flops = turns ? 0 : static_cast<double>(in_c);
  compete(r, p, contestants, expected, m);
  return m;
}

} // namespace detail

template <space S>
void run_matrix_suite(const rig<S>& r, const host_context& host, const settings& s,
                      const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                      report& out) {
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    std::vector<contestant<T, S>> contestants = {
        {"Lacuna", role::lacuna, matrix_suites, [ctx = r.ctx](const problem<T, S>& p) {
           return std::make_unique<lacuna_result<T, S>>(ctx, p);
         }}};
    for (auto& each : peers.template contestants<T>()) contestants.push_back(std::move(each));
    out.add(detail::measure_result(r, host, on, s, contestants));
  });
}

} // namespace lacuna::bench
