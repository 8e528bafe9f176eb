// plan(): what it keeps, and how that is multiplied with and given new values. Compiled once for
// each of the library's types; from here a product is one call away from its kernel.
#include <lacuna/plan/plan.hpp>

#include <fmt/format.h>

#include <lacuna/op/add.hpp>
#include <lacuna/op/transpose.hpp>

#include "plan/choose.hpp"
#include "plan/planned_state.hpp"
#include "plan/table.hpp"
#include "plan/value_map.hpp"

namespace lacuna {
namespace planning {
namespace {

template <class F, class T, class I, class O, space S>
class stored final : public stored_matrix<T, I, O, S> {
public:
  using matrix = typename F::template matrix<T, I, O, S>;
  explicit stored(matrix m) : m_(std::move(m)) {}

  void multiply(const context<S>& ctx, T alpha, dense_view<const T, S> x, T beta,
                dense_view<const T, S> z, dense_view<T, S> y) const override {
    if constexpr (requires { F::multiply(ctx, m_, alpha, x, beta, z, y); })
      F::multiply(ctx, m_, alpha, x, beta, z, y);
    else
      multiply_format(ctx, alpha, m_.view(), x, beta, z, y);
  }
  bool multiply_transposed(const context<S>& ctx, T alpha, dense_view<const T, S> x, T beta,
                           dense_view<const T, S> z, dense_view<T, S> y) const override {
    if constexpr (goes_both_ways) F::multiply_transposed(ctx, m_, alpha, x, beta, z, y);
    return goes_both_ways;
  }
  [[nodiscard]] bool two_way() const override { return goes_both_ways; }
  void update(const context<S>& ctx, const value_source<T, I, O, S>& v) override {
    F::update(ctx, m_, v);
  }
  [[nodiscard]] std::size_t bytes() const override { return m_.bytes(); }
  [[nodiscard]] std::string_view kernel() const override { return F::kernel_of(m_); }
  [[nodiscard]] bool looks() const override { return std::is_same_v<F, csr_format>; }
  [[nodiscard]] value_order updates_by() const override { return F::updates_by; }
  [[nodiscard]] const permutation<I>* order() const override {
    if constexpr (requires { F::order_of(m_); })
      return F::order_of(m_);
    else
      return nullptr;
  }

  dynamic_csr<T, I, O, S>* dynamic() override {
    if constexpr (requires { F::dynamic_of(m_); })
      return F::dynamic_of(m_);
    else
      return nullptr;
  }

private:
  static constexpr bool goes_both_ways = requires(const context<S>& ctx, const matrix& m, T a,
                                                  dense_view<const T, S> x, dense_view<T, S> y) {
    F::multiply_transposed(ctx, m, a, x, a, x, y);
  };
  matrix m_;
};

} // namespace

template <class T, class I, class O, space S>
std::unique_ptr<stored_matrix<T, I, O, S>>
store(const context<S>& ctx, const plan_candidate& chosen, csr_view<const T, I, O, S> a) {
  std::unique_ptr<stored_matrix<T, I, O, S>> result;
  with_format(chosen.format, [&]<class F>(F) {
    result = std::make_unique<stored<F, T, I, O, S>>(
        F::template make<T, I, O, S>(ctx, a, chosen.options));
  });
  return result;
}

/// The decision's first candidate that can be made; those that cannot are refused by it then.
template <class T, class I, class O, space S>
std::unique_ptr<stored_matrix<T, I, O, S>>
store_best(const context<S>& ctx, plan_decision& decision, csr_view<const T, I, O, S> a) {
  for (;;) {
    plan_candidate& chosen = decision.candidates.front();
    try {
      return store(ctx, chosen, a);
    } catch (const made_in_vain& why) {
      chosen.refused = why.what();
      decision.reasons = {fmt::format("{} is not taken: {}", chosen.format, why.what())};
      // The next that is not refused; CSR, which is there already, if there is none.
      auto& all = decision.candidates;
      auto next = std::find_if(all.begin(), all.end(),
                               [](const plan_candidate& c) { return c.refused.empty(); });
      if (next == all.end()) {
        next = std::find_if(all.begin(), all.end(),
                            [](const plan_candidate& c) { return c.format == csr_format::name; });
        next->refused.clear();
      }
      std::rotate(all.begin(), next, next + 1);
      decision.reasons.push_back(decision.chosen().why);
    }
  }
}

/// Where storage of A, or of its transpose, has A's entries: A's entries are numbered, and the
/// numbers go the way the values went. Costs what that way cost; 28 bytes per entry of scratch.
template <class T, class I, class O, space S>
value_map<I, O, S> make_value_map(const context<S>& ctx, const stored_matrix<T, I, O, S>& to,
                                  csr_view<const T, I, O, S> a, bool transposed) {
  array<double, S> numbers(ctx, a.size());
  value_map<I, O, S> map{array<O, S>(ctx, a.size()), {}, {}, {}};
  csr_view<const double, I, O, S> numbered(std::as_const(numbers).data(), a.rowptr().data(),
                                           a.colind().data(), a.shape(), a.size(), a.order());
  csr<double, I, O, S> across, permuted;
  if constexpr (S == space::host)
    detail::cpu::number_entries(ctx, numbers.view());
  else
    detail::gpu::number_entries(ctx, numbers.view());
  if (transposed) {
    across = transpose(ctx, numbered);
    numbered = std::as_const(across).view();
  }
  if constexpr (S == space::host) {
    if (to.order() != nullptr) {
      permuted = permute(ctx, numbered, *to.order());
      numbered = std::as_const(permuted).view();
    }
    detail::cpu::as_offsets<O>(ctx, numbered.values(), map.from.view());
  } else {
    detail::gpu::as_offsets<O>(ctx, numbered.values(), map.from.view());
  }
  map.order = numbered.order();
  if (to.updates_by() == value_order::pattern && detail::has_ascending_rows(ctx, numbered))
    map.order = {true, true};
  if (to.updates_by() != value_order::entries) {
    auto arrays = std::move(to.order() != nullptr ? permuted : across).release();
    map.rowptr = std::move(std::get<0>(arrays));
    if (to.updates_by() == value_order::pattern) map.colind = std::move(std::get<1>(arrays));
  }
  return map;
}

/// What the choice needs: the features, or where they are not looked at the size.
template <class T, class I, class O, space S>
spmv_features look_at(const context<S>& ctx, csr_view<const T, I, O, S> a,
                      const plan_hints& hints) {
  if (looks_at_features(hints)) return find_features(ctx, a);
  spmv_features size;
  size.rows = a.shape().row;
  size.cols = a.shape().col;
  size.entries = a.size();
  return size;
}
template <class T, class I, class O, space S>
plan_decision decide(const context<S>& ctx, csr_view<const T, I, O, S> a,
                     const spmv_machine& machine, const heeded_hints& heeded) {
  return choose_plan(look_at(ctx, a, heeded.hints), {sizeof(T), sizeof(I), sizeof(O)}, machine,
                     heeded.hints, heeded.by_environment);
}

} // namespace planning

template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::state::state(const context<S>& context, const lacuna::context<S>& on,
                                           csr_view<const T, I, O, S> matrix,
                                           const plan_hints& hints)
    : ctx(context), a(matrix), machine(machine_of(context)) {
  heeded_hints forward = with_environment(hints);
  const heeded_hints given = forward;
  // Where A itself is not multiplied with, it stays as it is whatever format is asked for.
  if (hints.multiplies == 0) forward = {hints, false}, forward.hints.format.clear();
  decision = planning::decide(on, a, machine, forward);
  stored = planning::store_best(on, decision, a);
  // Where there is no room for a transposed copy as well, one that goes both ways will do.
  const auto bytes_of_csr = static_cast<std::size_t>(a.size()) * (sizeof(T) + sizeof(I));
  if (hints.transposed_multiplies >= 2 && hints.memory_limit > 0 && given.hints.format.empty() &&
      hints.updates == 0 && !hints.will_change && !stored->two_way() &&
      stored->bytes() + bytes_of_csr > hints.memory_limit) {
    heeded_hints both = given;
    both.hints.format = planning::block_tree_format::name;
    plan_decision other = planning::decide(on, a, machine, both);
    auto tree = planning::store_best(on, other, a);
    if (tree->two_way() && tree->bytes() <= hints.memory_limit) {
      other.reasons.push_back(fmt::format("{} bytes are allowed, and a transposed copy would take "
                                          "{} more: one copy serves both directions",
                                          hints.memory_limit, bytes_of_csr));
      decision = std::move(other);
      stored = std::move(tree);
    }
  }
  // A matrix that changes is multiplied transposed as it is.
  const bool changes = given.hints.updates > 0 && stored->dynamic() != nullptr;
  if (hints.transposed_multiplies >= 2 && !changes && !stored->two_way()) {
    heeded_hints other = given;
    other.hints.multiplies = hints.transposed_multiplies;
    transposed_rows = transpose(on, a);
    const auto view = std::as_const(transposed_rows).view();
    transposed_decision = planning::decide(on, view, machine, other);
    transposed = planning::store_best(on, transposed_decision, view);
    if (!transposed->looks()) transposed_rows = {};
  }
  if (hints.value_updates > 0) make_maps(on, a);
  if (&on != &context) on.synchronize();
}

template <class T, class I, class O, space S>
void planned_operator<T, I, O, S>::state::make_maps(const context<S>& on,
                                                    csr_view<const T, I, O, S> from) {
  planning::value_map<I, O, S> straight, across;
  if (stored->order() != nullptr && map.from.empty())
    straight = planning::make_value_map(on, *stored, from, false);
  if (transposed && transposed_map.from.empty())
    across = planning::make_value_map(on, *transposed, from, true);
  if (!straight.from.empty()) map = std::move(straight);
  if (!across.from.empty()) transposed_map = std::move(across);
}

template <class T, class I, class O, space S>
void planned_operator<T, I, O, S>::state::update(csr_view<const T, I, O, S> from,
                                                 std::shared_ptr<csr<T, I, O, S>> taken) {
  make_maps(ctx, from);
  const auto source = [&](const planning::value_map<I, O, S>& by) {
    planning::value_source<T, I, O, S> v{from, nullptr, from.rowptr(), from.colind().data(),
                                         from.order()};
    if (!by.from.empty()) v.from = by.from.data();
    if (!by.rowptr.empty()) v.rowptr = std::as_const(by.rowptr).view();
    if (!by.colind.empty()) v.colind = by.colind.data(), v.order = by.order;
    return v;
  };
  if (transposed && transposed->looks())
    detail::place_values<T, O, S>(ctx, transposed_map.from.data(), from.values(),
                                  transposed_rows.values());
  else if (transposed)
    transposed->update(ctx, source(transposed_map));
  const bool copies = own != nullptr && taken == nullptr;
  if (copies) detail::place_values<T, O, S>(ctx, nullptr, from.values(), own->values());
  if (!copies || !stored->looks()) stored->update(ctx, source(map));
  if (!copies) {
    own = std::move(taken);
    a = from;
  }
}

template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::planned_operator(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                               const plan_hints& hints)
    : state_(std::make_unique<state>(ctx, ctx, a, hints)) {}
template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::planned_operator(const context<S>& ctx, csr<T, I, O, S>&& a,
                                               const plan_hints& hints)
    : planned_operator(ctx, std::as_const(a).view(), hints) {
  state_->own = std::make_shared<csr<T, I, O, S>>(std::move(a));
}
template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::planned_operator(std::unique_ptr<state> made)
    : state_(std::move(made)) {}
template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::planned_operator(planned_operator&&) noexcept = default;
template <class T, class I, class O, space S>
planned_operator<T, I, O, S>&
planned_operator<T, I, O, S>::operator=(planned_operator&&) noexcept = default;
template <class T, class I, class O, space S>
planned_operator<T, I, O, S>::~planned_operator() = default;

template <class T, class I, class O, space S>
void planned_operator<T, I, O, S>::multiply_stored(bool transposed, double alpha,
                                                   dense_view<const T, S> x, double beta,
                                                   dense_view<const T, S> z, dense_view<T, S> y,
                                                   const context<S>* other) const {
  const char* const name = transposed ? "multiply_transposed" : "multiply";
  const auto [rows, cols] = shape();
  detail::require_same_size(name, "x", x.shape().row, "columns of the operator",
                            transposed ? rows : cols);
  detail::require_same_size(name, "y", y.shape().row, "rows of the operator",
                            transposed ? cols : rows);
  detail::require_same_size(name, "columns of X", x.shape().col, "columns of Y", y.shape().col);
  detail::require_apart<T>(name, "x", x.data(), x.extent(), "y", y.data(), y.extent());
  const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
  const state& s = *state_;
  const context<S>& ctx = other == nullptr ? s.ctx : *other;
  if (!transposed) return s.stored->multiply(ctx, a, x, b, z, y);
  if (s.transposed) return s.transposed->multiply(ctx, a, x, b, z, y);
  if (s.stored->multiply_transposed(ctx, a, x, b, z, y)) return;
  if (const auto* const m = s.stored->dynamic())
    return lacuna::multiply(ctx, scaled(alpha, lacuna::transposed(*m)), x, scaled(beta, z), y);
  lacuna::multiply(ctx, scaled(alpha, lacuna::transposed(s.a)), x, scaled(beta, z), y);
}

template <class T, class I, class O, space S>
void planned_operator<T, I, O, S>::update(csr_view<const T, I, O, S> from) {
  state_->update(from, nullptr);
}
template <class T, class I, class O, space S>
void planned_operator<T, I, O, S>::update(csr<T, I, O, S>&& from) {
  const auto taken = std::make_shared<csr<T, I, O, S>>();
  state_->update(std::as_const(from).view(), taken);
  *taken = std::move(from);
}

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S>& planned_operator<T, I, O, S>::dynamic() {
  auto* const m = state_->stored->dynamic();
  if (m == nullptr || state_->transposed)
    throw unsupported(
        fmt::format("dynamic: the matrix is held as {}{}; announce updates to change it in place",
                    format(), m == nullptr ? "" : ", beside its transpose"));
  return *m;
}

template <class T, class I, class O, space S>
lacuna::index<std::int64_t> planned_operator<T, I, O, S>::shape() const {
  if (const auto* const m = state_->stored->dynamic()) return {m->shape().row, m->shape().col};
  return {state_->a.shape().row, state_->a.shape().col};
}
template <class T, class I, class O, space S>
std::int64_t planned_operator<T, I, O, S>::size() const {
  if (const auto* const m = state_->stored->dynamic()) return m->size();
  return state_->a.size();
}
template <class T, class I, class O, space S>
const std::string& planned_operator<T, I, O, S>::format() const {
  return state_->decision.chosen().format;
}
template <class T, class I, class O, space S>
std::string planned_operator<T, I, O, S>::kernel() const {
  const std::string_view made = state_->stored->kernel();
  return made.empty() ? state_->decision.chosen().kernel : std::string(made);
}
template <class T, class I, class O, space S>
std::size_t planned_operator<T, I, O, S>::bytes() const {
  const state& s = *state_;
  return (s.own ? s.own->bytes() : 0) + s.stored->bytes() + s.map.bytes() +
         (s.transposed ? s.transposed->bytes() : 0) + s.transposed_rows.bytes() +
         s.transposed_map.bytes();
}
template <class T, class I, class O, space S>
std::string planned_operator<T, I, O, S>::explain() const {
  return explain_plan(state_->decision, state_->machine, kernel());
}
template <class T, class I, class O, space S>
std::string planned_operator<T, I, O, S>::json() const {
  return plan_as_json(state_->decision, state_->machine, kernel(), bytes());
}
template <class T, class I, class O, space S>
const plan_decision& planned_operator<T, I, O, S>::decision() const {
  return state_->decision;
}
template <class T, class I, class O, space S>
const plan_decision* planned_operator<T, I, O, S>::transposed_decision() const {
  if (state_->transposed) return &state_->transposed_decision;
  return state_->stored->two_way() ? &state_->decision : nullptr;
}
template <class T, class I, class O, space S>
const context<S>& planned_operator<T, I, O, S>::where() const {
  return state_->ctx;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template class planned_operator<T, I, O, space::host>;                                           \
  template class planned_operator<T, I, O, space::device>;
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

namespace planning { // tuning measures with these
template std::unique_ptr<stored_matrix<double, std::int32_t, std::int32_t, space::host>>
store(const host_context&, const plan_candidate&,
      csr_view<const double, std::int32_t, std::int32_t>);
template std::unique_ptr<stored_matrix<double, std::int32_t, std::int32_t, space::device>>
store(const device_context&, const plan_candidate&,
      csr_view<const double, std::int32_t, std::int32_t, space::device>);
} // namespace planning

} // namespace lacuna
