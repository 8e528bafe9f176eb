// Lacuna as a contestant: planned, called plainly, with what multiply_inspect found, and in every
// format the planner chooses between.
#pragma once

#include "bench/settings.hpp"
#include <lacuna/plan/plan.hpp>

namespace lacuna::bench {

template <class T, space S> using problem_matrix = csr_view<const T, index_t, offset_t, S>;

/// Multiplications that plans are told of.
inline constexpr double planned_multiplies = 1000;

inline choice in_words(const plan_decision& decision) {
  const plan_candidate& best = decision.chosen();
  choice result{best.format + ", " + best.kernel, {}};
  result.why = result.format;
  for (const auto& reason : decision.reasons) result.why += "; " + reason;
  return result;
}

/// CSR as it is, by the operations' names.
template <class T, space S> class csr_product : public prepared {
public:
  csr_product(const context<S>& ctx, const problem<T, S>& p, bool inspect) : ctx_(ctx), p_(p) {
    if (!inspect) return;
    info_ = p.transposed() ? multiply_inspect(ctx, transposed(p.a), x(), y(), {.values_stay = true})
                           : multiply_inspect(ctx, p.a, x(), y());
  }
  void run() override {
    if (p_.what == suite::spmm)
      multiply(ctx_, info_, p_.a, p_.x, p_.y);
    else if (p_.transposed())
      multiply(ctx_, info_, transposed(p_.a), x(), y());
    else
      multiply(ctx_, info_, p_.a, x(), y());
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return info_.bytes(); }
  [[nodiscard]] choice explain() const override {
    return {{}, info_.inspection() == nullptr ? std::string() : info_.explain()};
  }

private:
  [[nodiscard]] vector_view<const T, S> x() const { return {p_.x.data(), p_.x.shape().row}; }
  [[nodiscard]] vector_view<T, S> y() const { return {p_.y.data(), p_.y.shape().row}; }

  context<S> ctx_;
  problem<T, S> p_;
  operation_info_t info_; // empty: multiply looks for nothing in it
};

/// plan(), told of many products in the suite's direction and none in the other; the fastest
/// format, or the one that is named. Throws refusal with the reason if that is refused.
template <class T, space S> class planned_product : public prepared {
public:
  planned_product(const context<S>& ctx, const problem<T, S>& p, const std::string& format)
      : p_(p), op_(plan(ctx, p.a, hints(p, format))) {
    const plan_candidate& chosen = decision().chosen();
    if (!format.empty() && chosen.format != format) throw refusal(decision().reasons.back());
  }
  void run() override {
    if (p_.transposed())
      op_.multiply_transposed(p_.x, p_.y);
    else
      op_.multiply(p_.x, p_.y);
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return op_.bytes(); }
  /// A plan that stays in CSR owns no copy; a transposed one always does.
  [[nodiscard]] std::size_t format_bytes() const override {
    const bool in_place = !p_.transposed() && op_.format() == "csr";
    return op_.bytes() + (in_place ? p_.csr_bytes() : 0);
  }
  [[nodiscard]] choice explain() const override { return in_words(decision()); }

private:
  [[nodiscard]] const plan_decision& decision() const {
    return p_.transposed() ? *op_.transposed_decision() : op_.decision();
  }
  static plan_hints hints(const problem<T, S>& p, const std::string& format) {
    plan_hints h;
    h.format = format;
    if (!format.empty()) h.memory_limit = 2 * p.csr_bytes(); // as where none is named
    h.multiplies = p.transposed() ? 0 : planned_multiplies;
    h.transposed_multiplies = p.transposed() ? planned_multiplies : 0;
    return h;
  }

  problem<T, S> p_;
  planned_operator<T, index_t, offset_t, S> op_;
};

/// A matrix in a format of its own.
template <class T, space S, class M> class format_product : public prepared {
public:
  format_product(const context<S>& ctx, const problem<T, S>& p, M matrix)
      : ctx_(ctx), p_(p), matrix_(std::move(matrix)) {}
  void run() override { multiply(ctx_, matrix_, p_.x, p_.y); }
  [[nodiscard]] std::size_t extra_bytes() const override { return matrix_.bytes(); }
  [[nodiscard]] std::size_t format_bytes() const override { return matrix_.bytes(); }

private:
  context<S> ctx_;
  problem<T, S> p_;
  M matrix_;
};

/// make(ctx, a) returns the matrix in the format; a is transposed for spmv-t.
template <class T, space S, class Make>
contestant<T, S> format_contestant(const std::string& name, role plays, const context<S>& ctx,
                                   Make make) {
  using M = decltype(make(ctx, problem_matrix<T, S>()));
  const auto prepare = [ctx, make](const problem<T, S>& p) -> std::unique_ptr<prepared> {
    const auto transpose_of_a =
        p.transposed() ? transpose(ctx, p.a) : csr<T, index_t, offset_t, S>();
    return std::make_unique<format_product<T, S, M>>(
        ctx, p, make(ctx, p.transposed() ? transpose_of_a.view() : p.a));
  };
  return {name, plays, {suite::spmv, suite::spmv_t}, prepare};
}

/// format: empty: the planner's choice.
template <class T, space S>
contestant<T, S> planned_contestant(const std::string& name, role plays, std::vector<suite> suites,
                                    const context<S>& ctx, const std::string& format) {
  return {name, plays, std::move(suites), [ctx, format](const problem<T, S>& p) {
            return std::make_unique<planned_product<T, S>>(ctx, p, format);
          }};
}

template <class T, space S>
contestant<T, S> csr_contestant(const std::string& name, role plays, std::vector<suite> suites,
                                const context<S>& ctx, bool inspect) {
  return {name, plays, std::move(suites), [=](const problem<T, S>& p) {
            return std::make_unique<csr_product<T, S>>(ctx, p, inspect);
          }};
}

template <class T, space S>
std::vector<contestant<T, S>> lacuna_contestants(const context<S>& ctx, bool every_format) {
  const auto entry = [&](const char* name, role plays, std::vector<suite> suites, bool inspect) {
    return csr_contestant<T, S>(name, plays, std::move(suites), ctx, inspect);
  };
  std::vector<contestant<T, S>> result = {
      planned_contestant<T, S>("Lacuna", role::lacuna, {suite::spmv, suite::spmv_t}, ctx, ""),
      entry("Lacuna", role::lacuna, {suite::spmm}, false)};
  // A plain product on the host has nothing to inspect; nor have several vectors, anywhere.
  if (S == space::host) {
    result.push_back(entry("Lacuna: csr", role::candidate, {suite::spmv}, false));
    result.push_back(entry("Lacuna: csr, inspected", role::candidate, {suite::spmv_t}, true));
    result.push_back(entry("Lacuna: csr", role::lacuna_too, {suite::spmv_t}, false));
  } else {
    const std::vector<suite> both = {suite::spmv, suite::spmv_t};
    result.push_back(entry("Lacuna: csr, inspected", role::candidate, both, true));
    result.push_back(entry("Lacuna: csr", role::lacuna_too, both, false));
  }
  if (every_format)
    for (const std::string& format : planned_formats())
      if (format != "csr")
        result.push_back(planned_contestant<T, S>("Lacuna: " + format, role::candidate,
                                                  {suite::spmv, suite::spmv_t}, ctx, format));
  return result;
}

} // namespace lacuna::bench
