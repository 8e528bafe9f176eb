#include <lacuna/solver/ilu.hpp>

#include <fmt/format.h>

#include <lacuna/op/triangular_solve.hpp>

namespace lacuna::detail {
namespace {

using cpu::factor_rows;
using cpu::find_bad_pivot;
using cpu::find_diagonals;
using cpu::guess_factors;
using cpu::shift_diagonal;
using cpu::sweep_factors;
using cpu::sweep_triangle;
using gpu::factor_rows;
using gpu::find_bad_pivot;
using gpu::find_diagonals;
using gpu::guess_factors;
using gpu::shift_diagonal;
using gpu::sweep_factors;
using gpu::sweep_triangle;

void require_options(const char* name, const ilu_options& o) {
  if (o.factor_sweeps < 0 || o.solve_sweeps < 0 || !(o.shift >= 0))
    throw bad_input(fmt::format("{}: sweeps and shift are not negative; they are {}, {} and {}",
                                name, o.factor_sweeps, o.solve_sweeps, o.shift));
}

template <class T, space S> dense_view<T, S> one_column(vector_view<T, S> x) {
  return {x.data(), {x.size(), 1}, layout::column_major};
}

} // namespace

template <class T, space S>
incomplete_factors<T, S>::incomplete_factors(const context<S>& ctx, bool symmetric, matrix a,
                                             const ilu_options& options)
    : symmetric_(symmetric), options_(options) {
  require_options(symmetric ? "ic0" : "ilu0", options);
  const std::int64_t n = a.shape().row;
  diagonal_ = array<std::int32_t, S>(ctx, n);
  const std::int64_t missing =
      find_diagonals(ctx, n, a.rowptr().data(), a.colind().data(), diagonal_.data());
  if (missing >= 0)
    throw bad_input(fmt::format("{}: the diagonal of row {} is not stored", name(), missing));
  const csr_view<const T, std::int32_t, std::int32_t, S> view = std::as_const(a).view();
  lower_ = analyse_triangle<std::int32_t, std::int32_t, S>(ctx, arrays_of(view), nullptr, false,
                                                           !symmetric, options.schedule);
  if (symmetric || options.factor_sweeps > 0) columns_ = keep_transposed(ctx, view);
  upper_ = symmetric ? analyse_triangle<std::int32_t, std::int32_t, S>(
                           ctx, {columns_.rowptr.view(), columns_.colind.view()},
                           columns_.from.data(), true, false, options.schedule)
                     : analyse_triangle<std::int32_t, std::int32_t, S>(
                           ctx, arrays_of(view), nullptr, true, false, options.schedule);
  lower_values_ = make_triangle_values<T>(ctx, lower_);
  upper_values_ = make_triangle_values<T>(ctx, upper_);
  if (options.solve_sweeps > 0)
    sweeps_ = array<T, S>(ctx, checked_mul(3, n));
  else
    scratch_ = make_triangle_scratch<T>(ctx, n, 1);
  refill(ctx, std::move(a));
}

template <class T, space S> void incomplete_factors<T, S>::refill(const context<S>& ctx, matrix a) {
  if (!diagonal_.empty() || a.shape().row != 0) {
    require_same_size(symmetric_ ? "ic0" : "ilu0", "rows of A", a.shape().row, "rows as factored",
                      diagonal_.size());
    require_same_size(symmetric_ ? "ic0" : "ilu0", "entries of A", a.size(), "entries as factored",
                      factors_.rowptr().empty() ? std::int64_t{a.size()}
                                                : std::int64_t{factors_.size()});
  }
  factorise(ctx, a);
  factors_ = std::move(a);
  // The pivots are known to be good: nothing is waited for.
  const auto gather = [&](const triangle_pattern<S>& p, triangle_values<T, S>& to) {
    const T* const values = std::as_const(factors_).values().data();
    if constexpr (S == space::host)
      (void)detail::cpu::gather_triangle<T>(ctx, p, values, to);
    else
      (void)detail::gpu::gather_triangle<T>(ctx, p, values, to, false);
  };
  gather(lower_, lower_values_);
  gather(upper_, upper_values_);
}

template <class T, space S>
void incomplete_factors<T, S>::factorise(const context<S>& ctx, matrix& a) const {
  const std::int64_t n = a.shape().row;
  const auto arrays = [&](T* values) {
    return factor_arrays<T>{n, a.rowptr().data(), a.colind().data(), diagonal_.data(), values};
  };
  const auto f = arrays(a.values().data());
  if (options_.shift > 0) shift_diagonal<T>(ctx, f, static_cast<T>(options_.shift));
  if (options_.factor_sweeps == 0) {
    array<std::uint32_t, S> ready(ctx, S == space::device ? n : 0);
    factor_rows<T>(ctx, f, symmetric_, lower_, ready.data());
  } else {
    array<T, S> before(ctx, a.size()), after(ctx, a.size());
    guess_factors<T>(ctx, arrays(after.data()), symmetric_, f.values);
    const factor_columns columns{columns_.rowptr.data(), columns_.colind.data(),
                                 columns_.from.data()};
    for (int sweep = 0; sweep < options_.factor_sweeps; ++sweep) {
      before.swap(after);
      sweep_factors<T>(ctx, arrays(after.data()), columns, symmetric_, f.values, before.data());
    }
    auto [rowptr, colind, values] = std::move(a).release();
    a = matrix({static_cast<std::int32_t>(n), static_cast<std::int32_t>(n)}, std::move(rowptr),
               std::move(colind), std::move(after), {true, true});
  }
  const std::int64_t bad = find_bad_pivot<T>(ctx, arrays(a.values().data()), symmetric_);
  if (bad >= 0)
    throw bad_input(fmt::format("{}: the pivot of row {} is {}; a shift of the diagonal may help",
                                name(), bad, symmetric_ ? "not positive" : "0 or not finite"));
}

template <class T, space S>
void incomplete_factors<T, S>::apply(const context<S>& ctx, vector_view<const T, S> r,
                                     vector_view<T, S> z) const {
  require_same_size("apply", "r", r.size(), "rows of the preconditioner", size());
  require_same_size("apply", "z", z.size(), "rows of the preconditioner", size());
  if (options_.solve_sweeps > 0) {
    const vector_view<T, S> between(sweeps_.data(), size());
    T* const scratch = sweeps_.data() + size();
    sweep_triangle<T>(ctx, lower_, lower_values_, options_.solve_sweeps, r, between, scratch);
    sweep_triangle<T>(ctx, upper_, upper_values_, options_.solve_sweeps, between, z, scratch);
    return;
  }
  const auto to = one_column(z);
  solve_triangle<T, S>(ctx, lower_, lower_values_, T{1}, T{1}, one_column(r), to, scratch_);
  solve_triangle<T, S>(ctx, upper_, upper_values_, T{1}, T{1}, to, to, scratch_);
}

template <class T, space S> std::size_t incomplete_factors<T, S>::bytes() const {
  return factors_.bytes() + diagonal_.bytes() + columns_.bytes() + lower_.bytes() + upper_.bytes() +
         lower_values_.bytes() + upper_values_.bytes() + scratch_.bytes() + sweeps_.bytes();
}

template <class T, space S> std::string incomplete_factors<T, S>::explain() const {
  const auto triangle = [](const triangle_pattern<S>& p, const triangle_values<T, S>& v) {
    return explain_triangle(p.statistics, S == space::device, p.schedule, p.lanes, p.runs, true,
                            p.bytes() + v.bytes());
  };
  const std::string solves = options_.solve_sweeps > 0
                                 ? fmt::format("solves are {} Jacobi sweeps", options_.solve_sweeps)
                                 : fmt::format("L: {}\nU: {}", triangle(lower_, lower_values_),
                                               triangle(upper_, upper_values_));
  return fmt::format("{}, factors {}\n{}\n", name(),
                     options_.factor_sweeps > 0
                         ? fmt::format("of {} sweeps", options_.factor_sweeps)
                         : std::string("exact on the pattern of A"),
                     solves);
}

template class incomplete_factors<float, space::host>;
template class incomplete_factors<double, space::host>;
template class incomplete_factors<float, space::device>;
template class incomplete_factors<double, space::device>;

} // namespace lacuna::detail
