// What the parts of liblacunapetsc share: PETSc's types in Lacuna's terms, options, counted calls,
// and the way from exceptions to PETSc's errors.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

#include <petsc/private/matimpl.h>
#include <petsc/private/pcimpl.h>

#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/plan/decision.hpp>

namespace lacuna::petsc {

static_assert(std::is_same_v<PetscScalar, double>,
              "liblacunapetsc: PETSc's scalars must be double");
/// PetscInt by its width.
using petsc_index = std::conditional_t<sizeof(PetscInt) == 4, std::int32_t, std::int64_t>;
using matrix_view = csr_view<const double, petsc_index, petsc_index>;

inline constexpr const char* matrix_type = "seqaijlacuna";
inline constexpr const char* preconditioner_type = "lacunaamg";

/// Options of an object, those with its prefix before those without.
struct settings {
  std::string format; ///< -lacuna_format; empty: the planner's choice
  /// -lacuna_multiplies: those that a plan is made for, so by its estimate it is repaid within
  /// them. With one thread plans were repaid within 20 where the estimate, for two, said 30.
  PetscReal multiplies = 30;
  PetscInt threads = 1;        ///< -lacuna_threads: of each rank
  std::string device = "host"; ///< -lacuna_device: auto, host (or cpu), cuda, cuda:N
  PetscReal pool_limit = -1;   ///< -lacuna_pool_limit: MiB; negative: a default
  PetscBool explain = PETSC_FALSE;
};
PetscErrorCode read_settings(PetscObject object, settings& s);

/// Calls that did their work with Lacuna's kernels, on this rank: -lacuna_count prints their sums
/// over ranks when PETSc is finalized.
struct call_counts {
  PetscLogDouble plans = 0, value_updates = 0, multiplies = 0, transposed_multiplies = 0;
  PetscLogDouble products = 0, amg_setups = 0, amg_updates = 0, amg_applies = 0;
  PetscLogDouble own_loops = 0; ///< multiplies that were left to PETSc's kernel
};
call_counts& counts();

/// What -log_view shows, by these names with "Lacuna" before them.
struct log_events {
  PetscLogEvent plan, update, multiply, multiply_transposed, product_symbolic, product_numeric,
      amg_setup, amg_apply;
};
const log_events& events();

/// PETSc's number for what Lacuna threw.
PetscErrorCode code_of(const error& e);

/// Calls f, which returns a PetscErrorCode; what it throws becomes a PETSc error with the message.
template <class F> PetscErrorCode guarded(const F& f) {
  try {
    return f();
  } catch (const error& e) {
    SETERRQ(PETSC_COMM_SELF, code_of(e), "Lacuna: %s", e.what());
  } catch (const std::bad_alloc&) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Lacuna: out of memory");
  } catch (const std::exception& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Lacuna: %s", e.what());
  }
}

/// f as PETSc may call it: nothing that is thrown anywhere in it passes PETSc's frames.
template <auto f> struct safe;
template <class... A, PetscErrorCode (*f)(A...)> struct safe<f> {
  static PetscErrorCode call(A... arguments) {
    return guarded([&] { return f(arguments...); });
  }
};

/// The arrays of a SeqAIJ or of a type that is one, as they are now. Costs nothing.
PetscErrorCode view_of(Mat a, matrix_view& view);
/// The same with what holds for its rows, which is looked at: one pass over the columns.
PetscErrorCode view_with_order(Mat a, matrix_view& view);

PetscErrorCode register_matrix();
PetscErrorCode register_preconditioner();
/// Products of sparse matrices: what a seqaijlacuna does where `C` is asked to be one of others'.
PetscErrorCode set_product_from_options(Mat c);
/// PETSc's own for SeqAIJ, which matrices had before they were made Lacuna's.
const _MatOps& seqaij_operations();

} // namespace lacuna::petsc
