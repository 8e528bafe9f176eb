// PETSc's door to the library: what runs when -dll_append has loaded it, and what its parts share.
#include <array>

#include "device.hpp"

namespace lacuna::petsc {
namespace {

PetscErrorCode print_counts() {
  PetscFunctionBegin;
  PetscBool wanted = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-lacuna_count", &wanted, nullptr));
  if (!wanted) PetscFunctionReturn(0);
  const call_counts& c = counts();
  std::array<PetscLogDouble, 9> mine{
      c.plans,    c.value_updates, c.multiplies,  c.transposed_multiplies,
      c.products, c.amg_setups,    c.amg_updates, c.amg_applies,
      c.own_loops},
      all{};
  PetscCallMPI(MPI_Reduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_DOUBLE,
                          MPI_SUM, 0, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "Lacuna: %.0f plans, %.0f value updates, %.0f multiplies, %.0f transposed "
                        "multiplies, %.0f products, %.0f amg set-ups, %.0f amg updates, %.0f amg "
                        "applies; PETSc's own loop ran %.0f times\n",
                        all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8]));
  PetscFunctionReturn(0);
}

log_events registered;

PetscErrorCode register_events() {
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("LacunaPlan", MAT_CLASSID, &registered.plan));
  PetscCall(PetscLogEventRegister("LacunaUpdate", MAT_CLASSID, &registered.update));
  PetscCall(PetscLogEventRegister("LacunaMult", MAT_CLASSID, &registered.multiply));
  PetscCall(PetscLogEventRegister("LacunaMultTr", MAT_CLASSID, &registered.multiply_transposed));
  PetscCall(PetscLogEventRegister("LacunaProdSym", MAT_CLASSID, &registered.product_symbolic));
  PetscCall(PetscLogEventRegister("LacunaProdNum", MAT_CLASSID, &registered.product_numeric));
  PetscCall(PetscLogEventRegister("LacunaAMGSetUp", PC_CLASSID, &registered.amg_setup));
  PetscCall(PetscLogEventRegister("LacunaAMGApply", PC_CLASSID, &registered.amg_apply));
  PetscFunctionReturn(0);
}

} // namespace

call_counts& counts() {
  static call_counts c;
  return c;
}

const log_events& events() { return registered; }

PetscErrorCode code_of(const error& e) {
  const std::string_view kind = e.kind();
  if (kind == "out_of_memory") return PETSC_ERR_MEM;
  if (kind == "unsupported") return PETSC_ERR_SUP;
  if (kind == "size_mismatch") return PETSC_ERR_ARG_SIZ;
  if (kind == "bad_input") return PETSC_ERR_USER_INPUT;
  if (kind == "device_error") return PETSC_ERR_GPU;
  return PETSC_ERR_LIB;
}

PetscErrorCode read_settings(PetscObject object, settings& s) {
  PetscFunctionBegin;
  std::array<char, 64> format{}, device{};
  for (const char* prefix :
       {static_cast<const char*>(nullptr), static_cast<const char*>(object->prefix)}) {
    PetscOptions from = object->options;
    PetscCall(PetscOptionsGetString(from, prefix, "-lacuna_format", format.data(), format.size(),
                                    nullptr));
    PetscCall(PetscOptionsGetString(from, prefix, "-lacuna_device", device.data(), device.size(),
                                    nullptr));
    PetscCall(PetscOptionsGetReal(from, prefix, "-lacuna_multiplies", &s.multiplies, nullptr));
    PetscCall(PetscOptionsGetInt(from, prefix, "-lacuna_threads", &s.threads, nullptr));
    PetscCall(PetscOptionsGetReal(from, prefix, "-lacuna_pool_limit", &s.pool_limit, nullptr));
    PetscCall(PetscOptionsGetBool(from, prefix, "-lacuna_explain", &s.explain, nullptr));
  }
  s.format = format.data();
  if (device[0] != 0) s.device = device.data();
  PetscCheck(s.threads >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "-lacuna_threads %" PetscInt_FMT " is negative", s.threads);
  PetscFunctionReturn(0);
}

PetscErrorCode view_of(Mat a, matrix_view& view) {
  PetscFunctionBegin;
  const PetscInt *rowptr = nullptr, *colind = nullptr;
  PetscScalar* values = nullptr;
  PetscCall(MatSeqAIJGetCSRAndMemType(a, &rowptr, &colind, &values, nullptr));
  const PetscInt rows = a->rmap->n, cols = a->cmap->n;
  view = matrix_view(
      values, rowptr, colind,
      index<petsc_index>{static_cast<petsc_index>(rows), static_cast<petsc_index>(cols)},
      rows == 0 ? 0 : rowptr[rows]);
  PetscFunctionReturn(0);
}

PetscErrorCode view_with_order(Mat a, matrix_view& view) {
  PetscFunctionBegin;
  PetscCall(view_of(a, view));
  const petsc_index* const begin = view.rowptr().data();
  const petsc_index* const column = view.colind().data();
  // A column may be less than the one before, or the same, where a row begins: all such places are
  // counted, which is a loop of vectors, then those at the rows' beginnings.
  petsc_index left = 0;
  for (petsc_index k = 1; k < view.size(); ++k) left += column[k] <= column[k - 1] ? 1 : 0;
  for (petsc_index r = 0; r < view.shape().row && left > 0; ++r) {
    const petsc_index first = begin[r];
    if (first > 0 && first < begin[r + 1]) left -= column[first] <= column[first - 1] ? 1 : 0;
  }
  const bool ascends = left == 0;
  view = matrix_view(view.values().data(), begin, column, view.shape(), view.size(),
                     {ascends, ascends});
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc

/// PETSc calls this when it loads liblacunapetsc.so, by the library's name.
extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_lacunapetsc() {
  using namespace lacuna::petsc;
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(PCInitializePackage());
  PetscCall(register_events());
  PetscCall(register_matrix());
  PetscCall(register_preconditioner());
  PetscCall(find_place_in_node());
  PetscCall(PetscRegisterFinalize(forget_devices));
  PetscCall(PetscRegisterFinalize(print_counts));
  PetscFunctionReturn(0);
}
