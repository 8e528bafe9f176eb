// The matrix type seqaijlacuna: a SeqAIJ whose products with vectors and with other matrices are
// Lacuna's. All else, entries and their assembly included, stays PETSc's: the arrays are the
// SeqAIJ's own, and the plan that is kept beside them is made at the first product and followed by
// the object's state: other values go through update_values, another pattern is planned anew.
#include <memory>
#include <string>

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
};

kept_plan& kept(Mat a) { return *static_cast<kept_plan*>(a->spptr); }

/// SeqAIJ's own operations, from the first matrix that was converted: their names are hidden in
/// libpetsc.
_MatOps own_operations;
bool own_operations_known = false;

/// Rows of 8 entries and more that are all of about one length: where such a matrix stays in CSR,
/// PETSc's loop is as fast as Lacuna's or faster, by a fifth if x is read at random and passes the
/// caches (an EPYC, one thread: uniform, 1 M rows of 16).
bool has_long_even_rows(matrix_view a) {
  const double rows = static_cast<double>(a.shape().row);
  const double mean = rows > 0 ? static_cast<double>(a.size()) / rows : 0;
  double squares = 0;
  for (petsc_index r = 0; r < a.shape().row; ++r) {
    const double length = static_cast<double>(a.rowptr()[r + 1] - a.rowptr()[r]);
    squares += (length - mean) * (length - mean);
  }
  return mean >= 8 && squares <= rows * mean * mean / 16;
}

PetscErrorCode explain(Mat a, const kept_plan& k) {
  PetscFunctionBegin;
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  const auto rows = k.op->kept_rows();
  const std::string what = fmt::format(
      "Lacuna: rank {}, block of {} x {}, {} entries{}\n{}{}", rank, a->rmap->n, a->cmap->n,
      k.planned.size(), rows ? fmt::format(" in {} rows", *rows) : "", k.op->plan().explain(),
      k.own_loop ? "- it stays in CSR, rows are long and alike: PETSc's own loop multiplies\n"
                 : "");
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, stdout, "%s", what.c_str()));
  PetscFunctionReturn(0);
}

/// Bytes that a plan may take, 0 for the planner's own limit. A core alone does not fill the
/// memory's bandwidth, and beyond the caches waits for x: there formats that sort rows lose to
/// CSR's order (an EPYC, one thread: cage, road, patents 0.6 to 0.8 times CSR), those that take a
/// good part less than CSR win, as diagonals and blocks do.
std::size_t memory_limit(matrix_view a) {
  constexpr double cached = 32 << 20;
  const double bytes = static_cast<double>(a.size()) * (sizeof(double) + sizeof(petsc_index)) +
                       static_cast<double>(a.shape().row) * sizeof(petsc_index);
  return bytes < cached ? 0 : static_cast<std::size_t>(0.8 * bytes);
}

PetscErrorCode make_plan(Mat a, kept_plan& k, matrix_view now) {
  PetscFunctionBegin;
  settings s;
  PetscCall(read_settings(reinterpret_cast<PetscObject>(a), s));
  PetscCall(PetscLogEventBegin(events().plan, a, nullptr, nullptr, nullptr));
  PetscCall(view_with_order(a, now)); // some formats are made faster of sorted rows
  k.op = nullptr;
  PetscCall(guarded([&] {
    plan_hints hints;
    hints.multiplies = s.multiplies;
    hints.format = s.format;
    if (s.format.empty()) hints.memory_limit = memory_limit(now);
    const host_context ctx({static_cast<int>(s.threads)});
    k.op = std::make_unique<local_operator>(ctx, now, hints);
    return PetscErrorCode{0};
  }));
  PetscCall(PetscLogEventEnd(events().plan, a, nullptr, nullptr, nullptr));
  counts().plans += 1;
  k.planned = now;
  k.own_loop = s.format.empty() && k.op->plan().format() == "csr" && !k.op->kept_rows() &&
               has_long_even_rows(now);
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
    PetscCall(guarded([&] { return op->update_values(now), PetscErrorCode{0}; }));
    PetscCall(PetscLogEventEnd(events().update, a, nullptr, nullptr, nullptr));
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
  PetscCall(guarded([&] {
    if constexpr (transposed)
      op->multiply_transposed(from, add, to);
    else
      op->multiply(from, add, to);
    return PetscErrorCode{0};
  }));
  PetscCall(PetscLogFlops(2.0 * static_cast<double>(kept(a).planned.size())));
  PetscCall(PetscLogEventEnd(event, a, nullptr, nullptr, nullptr));
  (transposed ? counts().transposed_multiplies : counts().multiplies) += 1;
  PetscCall(VecRestoreArrayRead(x, &from));
  if (z == y) {
    PetscCall(VecRestoreArray(y, &to));
  } else {
    if (z != nullptr) PetscCall(VecRestoreArrayRead(z, &add));
    PetscCall(VecRestoreArrayWrite(y, &to));
  }
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
PetscErrorCode mult_transpose(Mat a, Vec x, Vec y) { return multiply<true>(a, x, nullptr, y); }
PetscErrorCode mult_transpose_add(Mat a, Vec x, Vec z, Vec y) { return multiply<true>(a, x, z, y); }

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
  to.destroy = from.destroy;
}

const _MatOps& lacuna_operations() {
  static const _MatOps ops = [] {
    _MatOps o{};
    o.mult = mult;
    o.multadd = mult_add;
    o.multtranspose = o.multhermitiantranspose = mult_transpose; // values are real
    o.multtransposeadd = o.multhermitiantransposeadd = mult_transpose_add;
    o.productsetfromoptions = set_product_from_options;
    o.destroy = destroy;
    return o;
  }();
  return ops;
}

PetscErrorCode to_seqaij(Mat a, MatType, MatReuse reuse, Mat* made) {
  PetscFunctionBegin;
  Mat b = *made;
  if (reuse == MAT_INITIAL_MATRIX)
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &b));
  else if (reuse == MAT_REUSE_MATRIX)
    PetscCall(MatCopy(a, b, SAME_NONZERO_PATTERN));
  PetscBool ours = PETSC_FALSE;
  const auto object = reinterpret_cast<PetscObject>(b);
  PetscCall(PetscObjectTypeCompare(object, matrix_type, &ours));
  if (ours) {
    forget(b);
    set_operations(*b->ops, own_operations);
    PetscCall(PetscObjectChangeTypeName(object, MATSEQAIJ));
  }
  *made = b;
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
  Mat b = *made;
  if (reuse == MAT_INITIAL_MATRIX)
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &b));
  else if (reuse == MAT_REUSE_MATRIX)
    PetscCall(MatCopy(a, b, SAME_NONZERO_PATTERN));
  PetscBool ours = PETSC_FALSE;
  const auto object = reinterpret_cast<PetscObject>(b);
  PetscCall(PetscObjectTypeCompare(object, matrix_type, &ours));
  *made = b;
  if (ours) PetscFunctionReturn(0);
  if (!own_operations_known) {
    own_operations = *b->ops;
    own_operations_known = true;
  }
  PetscCall(guarded([&] { return b->spptr = new kept_plan, PetscErrorCode{0}; }));
  set_operations(*b->ops, lacuna_operations());
  PetscCall(guarded([&] { return compose_by_our_name(object); }));
  PetscCall(guarded([&] { return compose_dense_product(object); }));
  const std::string back = std::string("MatConvert_") + matrix_type + "_seqaij_C";
  PetscCall(PetscObjectComposeFunction(object, back.c_str(), to_seqaij));
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
  PetscCall(MatRegister(matrix_type, create));
  PetscCall(MatSeqAIJRegister(matrix_type, from_seqaij));
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc
