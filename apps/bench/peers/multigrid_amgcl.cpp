// lacuna-bench-multigrid-amgcl: a system by CG with AMGCL's hierarchies, on OpenMP's threads, run
// by lacuna-bench (multigrid_exchange.hpp).
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/ruge_stuben.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/chebyshev.hpp>
#include <amgcl/relaxation/ilu0.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

#include "bench/peers/multigrid_exchange.hpp"

namespace {

using lacuna::bench::multigrid_task;
using backend = amgcl::backend::builtin<double>;

class clock {
public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct system_of_rows {
  std::vector<int> rowptr, colind;
  std::vector<double> values, b, near;
};

/// To coarsenings that take near-null vectors: row by row.
template <class Coarsening>
auto give_near_null_space(Coarsening& to, const multigrid_task& t, const system_of_rows& s, int)
    -> decltype(to.nullspace, void()) {
  to.aggr.block_size = static_cast<unsigned>(t.unknowns);
  if (t.vectors == 0) return;
  to.nullspace.cols = t.vectors;
  to.nullspace.B.resize(s.near.size());
  for (long v = 0; v < t.vectors; ++v)
    for (long i = 0; i < t.rows; ++i)
      to.nullspace.B[static_cast<std::size_t>(i * t.vectors + v)] =
          s.near[static_cast<std::size_t>(v * t.rows + i)];
}
template <class Coarsening>
void give_near_null_space(Coarsening&, const multigrid_task&, const system_of_rows&, long) {}

template <class Hierarchy>
void measure(const multigrid_task& t, const system_of_rows& s, const std::string& name,
             int number) {
  using solver = amgcl::make_solver<Hierarchy, amgcl::solver::cg<backend>>;
  typename solver::params how;
  how.solver.tol = t.tolerance;
  how.solver.maxiter = 300;
  give_near_null_space(how.precond.coarsening, t, s, 0);
  const backend::matrix a(s.b.size(), s.b.size(), s.rowptr, s.colind, s.values);
  std::vector<double> set_up, solve, x;
  std::size_t iterations = 0;
  for (int round = 0; round < t.rounds; ++round) {
    clock watch;
    solver m(a, how);
    set_up.push_back(watch.seconds());
    x.assign(s.b.size(), 0.0);
    watch = {};
    const auto outcome = m(s.b, x);
    using std::get; // tuples are the standard library's or Boost's
    iterations = get<0>(outcome);
    solve.push_back(watch.seconds());
  }
  t.answer(number, name, lacuna::bench::median_of(set_up), lacuna::bench::median_of(solve),
           static_cast<int>(iterations), 0, x.data());
}

} // namespace

int main(int count, char** words) {
  const multigrid_task t(count, words);
  system_of_rows s{t.read<int>(".rowptr"),
                   t.read<int>(".colind"),
                   t.read<double>(".values"),
                   t.read<double>(".b"),
                   {}};
  if (t.vectors > 0) s.near = t.read<double>(".near");
  // Coarsenings are classes or templates, as the version has it: they are named where they are
  // used.
  using namespace amgcl::coarsening;
  using namespace amgcl::relaxation;
  measure<amgcl::amg<backend, smoothed_aggregation, spai0>>(
      t, s, "AMGCL: smoothed aggregation, SPAI-0", 0);
  measure<amgcl::amg<backend, smoothed_aggregation, ilu0>>(
      t, s, "AMGCL: smoothed aggregation, ILU(0)", 1);
  measure<amgcl::amg<backend, smoothed_aggregation, chebyshev>>(
      t, s, "AMGCL: smoothed aggregation, Chebyshev", 2);
  if (t.unknowns == 1)
    measure<amgcl::amg<backend, ruge_stuben, spai0>>(t, s, "AMGCL: Ruge-Stuben, SPAI-0", 3);
}
