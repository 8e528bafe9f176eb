// The matrix type seqaijlacuna: a SeqAIJ whose products with vectors and with other matrices are
// Lacuna's. All else, entries and their assembly included, stays PETSc's: the arrays are the
// SeqAIJ's own, and the plan that is kept beside them is made at the first product and followed by
// the object's state: other values go through update_values, another pattern is planned anew.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "local_operator.hpp"

namespace lacuna::petsc {
namespace {

/// Kept in Mat::spptr.
struct kept_plan {
  std::unique_ptr<local_operator> op;
  PetscObjectState state = -1, nonzero_state = -1;
  matrix_view planned;   ///< the arrays that it looks at
  bool own_loop = false; ///< PETSc's multiplies
  bool swept = false;    ///< MatSOR was called
  /// PETSc's multiplies with the transpose: a plan is none for that, and on one thread PETSc's loop
  /// takes two thirds of the time of Lacuna's.
  std::optional<bool> own_transposed;
};

kept_plan& kept(Mat a) { return *static_cast<kept_plan*>(a->spptr); }

/// SeqAIJ's own operations, from the first matrix that was converted: their names are hidden in
/// libpetsc.
_MatOps own_operations;
bool own_operations_known = false;

/// Whether PETSc multiplies neighbouring rows that have the same columns together.
PetscErrorCode has_inodes(Mat a, bool* has) {
  PetscFunctionBegin;
  PetscInt count = 0;
  PetscCall(MatInodeGetInodeSizes(a, &count, nullptr, nullptr));
  *has = count > 0;
  PetscFunctionReturn(0);
}

/// Whether PETSc's plain loop over rows is as fast as Lacuna's or faster, on one thread: rows are
/// short, or alike. Lacuna's gains where they are long and of many lengths, so that their ends are
/// not foreseen. Figures of both are in docs/petsc.md.
bool suits_petscs_loop(matrix_view view) {
  const double rows = static_cast<double>(view.shape().row);
  const double mean = rows > 0 ? static_cast<double>(view.size()) / rows : 0;
  if (mean < 16) return true;
  double squares = 0;
  for (petsc_index r = 0; r < view.shape().row; ++r) {
    const double length = static_cast<double>(view.rowptr()[r + 1] - view.rowptr()[r]);
    squares += (length - mean) * (length - mean);
  }
  return squares <= rows * mean * mean / 16; // a deviation of a quarter of the mean
}

PetscErrorCode explain(Mat a, const kept_plan& k) {
  PetscFunctionBegin;
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  const auto rows = k.op->kept_rows();
  const std::string what = fmt::format(
      "Lacuna: rank {}, block of {} x {}, {} entries{}\n{}{}", rank, a->rmap->n, a->cmap->n,
      k.planned.size(), rows ? fmt::format(" in {} rows", *rows) : "", k.op->product().explain(),
      k.own_loop ? "- it stays in CSR, with rows that PETSc's own loop multiplies as fast\n" : "");
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, stdout, "%s", what.c_str()));
  PetscFunctionReturn(0);
}

double bytes_of(matrix_view a) {
  return static_cast<double>(a.size()) * (sizeof(double) + sizeof(petsc_index)) +
         static_cast<double>(a.shape().row) * sizeof(petsc_index);
}
/// Whether a last-level cache holds it.
bool is_cached(matrix_view a) { return bytes_of(a) < (32 << 20); }

/// Bytes that a plan may take, 0 for the planner's own limit. A core alone does not fill the
/// memory's bandwidth, and beyond the caches waits for x: there formats that sort rows lose to
/// CSR's order (an EPYC, one thread: cage, road, patents 0.6 to 0.8 times CSR), those that take a
/// good part less than CSR win, as diagonals and blocks do.
std::size_t memory_limit(matrix_view a) {
  return is_cached(a) ? 0 : static_cast<std::size_t>(0.8 * bytes_of(a));
}

PetscErrorCode make_plan(Mat a, kept_plan& k, matrix_view now) {
  PetscFunctionBegin;
  settings s;
  PetscCall(read_settings(reinterpret_cast<PetscObject>(a), s));
  std::shared_ptr<rank_device> device;
  PetscCall(find_device(s, now.size(), device));
  PetscCall(PetscLogEventBegin(events().plan, a, nullptr, nullptr, nullptr));
  PetscCall(view_with_order(a, now)); // some formats are made faster of sorted rows
  bool inodes = false;
  if (device == nullptr) PetscCall(has_inodes(a, &inodes));
  // Sweeps over inodes go as fast as a cache gives the arrays: a second copy would drive them out.
  const bool shares_cache = s.format.empty() && k.swept && inodes && is_cached(now);
  k.op = nullptr;
  const PetscErrorCode failed = guarded([&] {
    plan_hints hints;
    // Inodes take about two thirds of the time that plans are compared with, so less is gained.
    hints.multiplies = inodes ? s.multiplies / 1.5 : s.multiplies;
    hints.format = s.format;
    if (s.format.empty() && device == nullptr) hints.memory_limit = memory_limit(now);
    if (shares_cache) hints.format = "csr";
    const host_context ctx({static_cast<int>(s.threads)});
    k.op = std::make_unique<local_operator>(ctx, device, now, hints);
    return PetscErrorCode{0};
  });
  PetscCall(PetscLogEventEnd(events().plan, a, nullptr, nullptr, nullptr));
  PetscCall(failed);
  counts().plans += 1;
  k.planned = now;
  k.own_loop = s.format.empty() && s.threads == 1 && device == nullptr &&
               k.op->product().format() == "csr" && !k.op->kept_rows() &&
               (inodes || suits_petscs_loop(now));
  if (s.explain) PetscCall(explain(a, k));
  PetscFunctionReturn(0);
}

/// The plan for the matrix as it is now.
PetscErrorCode bring_up_to_date(Mat a, local_operator*& op) {
  PetscFunctionBegin;
  kept_plan& k = kept(a);
  PetscObjectState state = 0;
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(a), &state));
  op = k.op.get();
  if (op != nullptr && state == k.state) PetscFunctionReturn(0);
  matrix_view now;
  PetscCall(view_of(a, now));
  // The arrays themselves count, too: a plan in CSR reads them.
  const bool same_pattern = op != nullptr && a->nonzerostate == k.nonzero_state &&
                            now.size() == k.planned.size() &&
                            now.rowptr().data() == k.planned.rowptr().data() &&
                            now.colind().data() == k.planned.colind().data();
  if (same_pattern) {
    PetscCall(PetscLogEventBegin(events().update, a, nullptr, nullptr, nullptr));
    now = matrix_view(now.values().data(), now.rowptr().data(), now.colind().data(), now.shape(),
                      now.size(), k.planned.order());
    const PetscErrorCode failed =
        guarded([&] { return op->update_values(now), PetscErrorCode{0}; });
    PetscCall(PetscLogEventEnd(events().update, a, nullptr, nullptr, nullptr));
    PetscCall(failed);
    counts().value_updates += 1;
    k.planned = now;
  } else {
    PetscCall(make_plan(a, k, now));
  }
  op = k.op.get();
  k.state = state;
  k.nonzero_state = a->nonzerostate;
  PetscFunctionReturn(0);
}

/// y = A x, or y = z + A x; transposed, A^T.
template <bool transposed> PetscErrorCode multiply(Mat a, Vec x, Vec z, Vec y) {
  PetscFunctionBegin;
  local_operator* op = nullptr;
  PetscCall(bring_up_to_date(a, op));
  const PetscScalar *from = nullptr, *add = nullptr;
  PetscScalar* to = nullptr;
  PetscCall(VecGetArrayRead(x, &from));
  if (z == y) {
    PetscCall(VecGetArray(y, &to));
    add = to;
  } else {
    if (z != nullptr) PetscCall(VecGetArrayRead(z, &add));
    PetscCall(VecGetArrayWrite(y, &to));
  }
  const PetscLogEvent event = transposed ? events().multiply_transposed : events().multiply;
  PetscCall(PetscLogEventBegin(event, a, nullptr, nullptr, nullptr));
  const PetscErrorCode failed = guarded([&] {
    if constexpr (transposed)
      op->multiply_transposed(from, add, to);
    else
      op->multiply(from, add, to);
    return PetscErrorCode{0};
  });
  PetscCall(PetscLogFlops(2.0 * static_cast<double>(kept(a).planned.size())));
  PetscCall(PetscLogEventEnd(event, a, nullptr, nullptr, nullptr));
  if (failed == 0) (transposed ? counts().transposed_multiplies : counts().multiplies) += 1;
  PetscCall(VecRestoreArrayRead(x, &from));
  if (z == y) {
    PetscCall(VecRestoreArray(y, &to));
  } else {
    if (z != nullptr) PetscCall(VecRestoreArrayRead(z, &add));
    PetscCall(VecRestoreArrayWrite(y, &to));
  }
  PetscCall(failed);
  PetscFunctionReturn(0);
}

/// PETSc's own, where that was the plan.
PetscErrorCode multiply_by_plan(Mat a, Vec x, Vec z, Vec y) {
  PetscFunctionBegin;
  local_operator* op = nullptr;
  PetscCall(bring_up_to_date(a, op));
  if (!kept(a).own_loop) {
    PetscCall(multiply<false>(a, x, z, y));
    PetscFunctionReturn(0);
  }
  if (z == nullptr)
    PetscCall(own_operations.mult(a, x, y));
  else
    PetscCall(own_operations.multadd(a, x, z, y));
  counts().own_loops += 1;
  PetscFunctionReturn(0);
}

PetscErrorCode mult(Mat a, Vec x, Vec y) { return multiply_by_plan(a, x, nullptr, y); }
PetscErrorCode mult_add(Mat a, Vec x, Vec z, Vec y) { return multiply_by_plan(a, x, z, y); }

PetscErrorCode multiply_transposed(Mat a, Vec x, Vec z, Vec y) {
  PetscFunctionBegin;
  kept_plan& k = kept(a);
  if (!k.own_transposed) {
    settings s;
    PetscCall(read_settings(reinterpret_cast<PetscObject>(a), s));
    matrix_view now;
    PetscCall(view_of(a, now));
    std::shared_ptr<rank_device> device;
    PetscCall(find_device(s, now.size(), device));
    k.own_transposed = s.format.empty() && s.threads == 1 && device == nullptr;
  }
  if (!*k.own_transposed) {
    PetscCall(multiply<true>(a, x, z, y));
    PetscFunctionReturn(0);
  }
  if (z == nullptr)
    PetscCall(own_operations.multtranspose(a, x, y));
  else
    PetscCall(own_operations.multtransposeadd(a, x, z, y));
  counts().own_loops += 1;
  PetscFunctionReturn(0);
}

PetscErrorCode mult_transpose(Mat a, Vec x, Vec y) { return multiply_transposed(a, x, nullptr, y); }
PetscErrorCode mult_transpose_add(Mat a, Vec x, Vec z, Vec y) {
  return multiply_transposed(a, x, z, y);
}

/// PETSc's, which from then on may ask for another plan.
PetscErrorCode sor(Mat a, Vec b, PetscReal omega, MatSORType kind, PetscReal shift, PetscInt its,
                   PetscInt local_its, Vec x) {
  PetscFunctionBegin;
  kept_plan& k = kept(a);
  if (!std::exchange(k.swept, true) && k.op != nullptr && !k.op->is_on_device()) {
    k.op = nullptr;
    k.state = -1;
  }
  PetscCall(own_operations.sor(a, b, omega, kind, shift, its, local_its, x));
  PetscFunctionReturn(0);
}

void forget(Mat a) {
  delete static_cast<kept_plan*>(a->spptr);
  a->spptr = nullptr;
}

PetscErrorCode destroy(Mat a) {
  PetscFunctionBegin;
  forget(a);
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), MATSEQAIJ));
  PetscCall(own_operations.destroy(a));
  PetscFunctionReturn(0);
}

/// Everything this type does itself.
void set_operations(_MatOps& to, const _MatOps& from) {
  to.mult = from.mult;
  to.multadd = from.multadd;
  to.multtranspose = from.multtranspose;
  to.multtransposeadd = from.multtransposeadd;
  to.multhermitiantranspose = from.multhermitiantranspose;
  to.multhermitiantransposeadd = from.multhermitiantransposeadd;
  to.productsetfromoptions = from.productsetfromoptions;
  to.sor = from.sor;
  to.destroy = from.destroy;
}

const _MatOps& lacuna_operations() {
  static const _MatOps ops = [] {
    _MatOps o{};
    o.mult = safe<mult>::call;
    o.multadd = safe<mult_add>::call;
    o.multtranspose = o.multhermitiantranspose = safe<mult_transpose>::call; // values are real
    o.multtransposeadd = o.multhermitiantransposeadd = safe<mult_transpose_add>::call;
    o.productsetfromoptions = set_product_from_options;
    o.sor = safe<sor>::call;
    o.destroy = destroy;
    return o;
  }();
  return ops;
}

/// The matrix that a conversion is to change, b: a itself, a copy of it, or `made` with its values.
PetscErrorCode begin_conversion(Mat a, MatReuse reuse, Mat* made, PetscBool* ours) {
  PetscFunctionBegin;
  if (reuse == MAT_INITIAL_MATRIX)
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, made));
  else if (reuse == MAT_REUSE_MATRIX)
    PetscCall(MatCopy(a, *made, SAME_NONZERO_PATTERN));
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(*made), matrix_type, ours));
  PetscFunctionReturn(0);
}

PetscErrorCode to_seqaij(Mat a, MatType, MatReuse reuse, Mat* made) {
  PetscFunctionBegin;
  PetscBool ours = PETSC_FALSE;
  PetscCall(begin_conversion(a, reuse, made, &ours));
  if (!ours) PetscFunctionReturn(0);
  forget(*made);
  set_operations(*(*made)->ops, own_operations);
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(*made), MATSEQAIJ));
  PetscFunctionReturn(0);
}

/// SeqAIJ composes its conversions and products as functions with "_seqaij_" in their names, which
/// PETSc looks for by the names of types: they serve this type as well, by names of its own.
PetscErrorCode compose_by_our_name(PetscObject object) {
  PetscFunctionBegin;
  const char** names = nullptr;
  int count = 0;
  PetscCall(PetscFunctionListGet(object->qlist, &names, &count));
  const std::string theirs = "_seqaij_", ours = std::string("_") + matrix_type + "_";
  for (int k = 0; k < count; ++k) {
    if (names[k] == nullptr) continue; // the last one
    const std::string name = names[k];
    PetscVoidFunction f = nullptr;
    PetscCall(PetscObjectQueryFunction(object, name.c_str(), &f));
    if (f == nullptr) continue;
    // The second may begin with the underscore that ends the first.
    for (std::size_t at = name.find(theirs); at != std::string::npos;
         at = name.find(theirs, at + 1)) {
      std::string other = name;
      other.replace(at, theirs.size(), ours);
      PetscCall(PetscObjectComposeFunction_Private(object, other.c_str(), f));
      const std::size_t next = other.find(theirs, at + ours.size() - 1);
      if (next == std::string::npos) continue;
      other.replace(next, theirs.size(), ours);
      PetscCall(PetscObjectComposeFunction_Private(object, other.c_str(), f));
    }
  }
  PetscCall(PetscFree(names));
  PetscFunctionReturn(0);
}

/// The product of a SeqAIJ with a dense matrix is one that dense matrices know.
PetscErrorCode compose_dense_product(PetscObject object) {
  PetscFunctionBegin;
  static PetscVoidFunction f = nullptr;
  if (f == nullptr) {
    Mat dense = nullptr;
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 0, 0, nullptr, &dense));
    PetscCall(PetscObjectQueryFunction(reinterpret_cast<PetscObject>(dense),
                                       "MatProductSetFromOptions_seqaij_seqdense_C", &f));
    PetscCall(MatDestroy(&dense));
  }
  const std::string name = std::string("MatProductSetFromOptions_") + matrix_type + "_seqdense_C";
  PetscCall(PetscObjectComposeFunction_Private(object, name.c_str(), f));
  PetscFunctionReturn(0);
}

PetscErrorCode from_seqaij(Mat a, MatType, MatReuse reuse, Mat* made) {
  PetscFunctionBegin;
  PetscBool ours = PETSC_FALSE;
  PetscCall(begin_conversion(a, reuse, made, &ours));
  if (ours) PetscFunctionReturn(0);
  const Mat b = *made;
  const auto object = reinterpret_cast<PetscObject>(b);
  if (!own_operations_known) {
    own_operations = *b->ops;
    own_operations_known = true;
  }
  PetscCall(compose_by_our_name(object));
  PetscCall(compose_dense_product(object));
  const std::string back = std::string("MatConvert_") + matrix_type + "_seqaij_C";
  PetscCall(PetscObjectComposeFunction(object, back.c_str(), safe<to_seqaij>::call));
  b->spptr = new kept_plan; // nothing fails after it: a matrix is of the one type or of the other
  set_operations(*b->ops, lacuna_operations());
  PetscCall(PetscObjectChangeTypeName(object, matrix_type));
  PetscFunctionReturn(0);
}

PetscErrorCode create(Mat a) {
  PetscFunctionBegin;
  PetscCall(MatSetType(a, MATSEQAIJ));
  PetscCall(from_seqaij(a, matrix_type, MAT_INPLACE_MATRIX, &a));
  PetscFunctionReturn(0);
}

} // namespace

const _MatOps& seqaij_operations() { return own_operations; }

PetscErrorCode register_matrix() {
  PetscFunctionBegin;
  PetscCall(MatRegister(matrix_type, safe<create>::call));
  PetscCall(MatSeqAIJRegister(matrix_type, safe<from_seqaij>::call));
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc
