// Products of matrices of type seqaijlacuna: A B, A^T B, A B^T, P^T A P and R A R^T by Lacuna's
// phases. The first is made with the pattern; others of the same patterns are values alone.
#include <algorithm>
#include <memory>
#include <vector>

#include "plugin.hpp"
#include <lacuna/op/galerkin.hpp>
#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna::petsc {
namespace {

using result_view = csr_view<double, petsc_index, petsc_index>;

/// Kept in Mat_Product::data.
struct kept_product {
  host_context ctx;
  operation_info_t info;
  PetscObjectState left = -1, right = -1; ///< states of the factors that C's values are of
};

/// Calls f with the factors as the kind of product has them, two or three.
template <class F>
void with_factors(MatProductType kind, matrix_view a, matrix_view b, const F& f) {
  switch (kind) {
  case MATPRODUCT_AtB: return f(transposed(a), b);
  case MATPRODUCT_ABt: return f(a, transposed(b));
  case MATPRODUCT_PtAP: return f(transposed(b), a, b);
  case MATPRODUCT_RARt: return f(b, a, transposed(b));
  default: return f(a, b);
  }
}

bool is_ours(MatProductType kind) {
  return kind == MATPRODUCT_AB || kind == MATPRODUCT_AtB || kind == MATPRODUCT_ABt ||
         kind == MATPRODUCT_PtAP || kind == MATPRODUCT_RARt;
}

struct compute {
  const host_context& ctx;
  operation_info_t& info;
  template <class A, class B> void operator()(const A& a, const B& b) const {
    info = multiply_compute(ctx, a, b);
  }
  template <class R, class A, class P> void operator()(const R& r, const A& a, const P& p) const {
    info = galerkin_compute(ctx, r, a, p);
  }
};
struct fill {
  const host_context& ctx;
  const operation_info_t& info;
  result_view c;
  template <class A, class B> void operator()(const A& a, const B& b) const {
    multiply_fill(ctx, info, a, b, c);
  }
  template <class R, class A, class P> void operator()(const R& r, const A& a, const P& p) const {
    galerkin_fill(ctx, info, r, a, p, c);
  }
};
struct refill {
  const host_context& ctx;
  const operation_info_t& info;
  result_view c;
  template <class A, class B> void operator()(const A& a, const B& b) const {
    multiply_refill(ctx, info, a, b, c);
  }
  template <class R, class A, class P> void operator()(const R& r, const A& a, const P& p) const {
    galerkin_refill(ctx, info, r, a, p, c);
  }
};

PetscErrorCode destroy_kept(void* data) {
  delete static_cast<kept_product*>(data);
  return 0;
}

PetscErrorCode remember_states(Mat c, kept_product& k) {
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(c->product->A), &k.left));
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(c->product->B), &k.right));
  PetscFunctionReturn(0);
}

PetscErrorCode finish(Mat c) {
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(c, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(c, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/// Refills C's values, unless they are those of the factors as they are.
PetscErrorCode numeric(Mat c) {
  PetscFunctionBegin;
  auto& k = *static_cast<kept_product*>(c->product->data);
  kept_product now;
  PetscCall(remember_states(c, now));
  if (now.left == k.left && now.right == k.right) PetscFunctionReturn(0);
  matrix_view a, b, old;
  PetscCall(view_with_order(c->product->A, a));
  PetscCall(view_with_order(c->product->B, b));
  PetscCall(view_of(c, old));
  PetscScalar* values = nullptr;
  PetscCall(MatSeqAIJGetArrayWrite(c, &values));
  PetscCall(PetscLogEventBegin(events().product_numeric, c, nullptr, nullptr, nullptr));
  k.left = k.right = -1;
  const PetscErrorCode failed = guarded([&] {
    const result_view to(values, const_cast<petsc_index*>(old.rowptr().data()),
                         const_cast<petsc_index*>(old.colind().data()), old.shape(), old.size());
    with_factors(c->product->type, a, b, refill{k.ctx, k.info, to});
    return PetscErrorCode{0};
  });
  PetscCall(PetscLogEventEnd(events().product_numeric, c, nullptr, nullptr, nullptr));
  PetscCall(MatSeqAIJRestoreArrayWrite(c, &values));
  PetscCall(failed);
  PetscCall(finish(c));
  PetscCall(remember_states(c, k));
  counts().products += 1;
  PetscFunctionReturn(0);
}

/// C's rows and columns, from arrays that are given back afterwards.
PetscErrorCode set_entries(Mat c, result_view made) {
  PetscFunctionBegin;
  std::vector<PetscInt> lengths(static_cast<std::size_t>(made.shape().row));
  const petsc_index* const begin = made.rowptr().data();
  for (std::size_t r = 0; r < lengths.size(); ++r) lengths[r] = begin[r + 1] - begin[r];
  PetscCall(MatSeqAIJSetPreallocation(c, 0, lengths.data()));
  PetscCall(MatSeqAIJSetColumnIndices(c, made.colind().data()));
  PetscScalar* values = nullptr;
  PetscCall(MatSeqAIJGetArrayWrite(c, &values));
  std::copy_n(made.values().data(), made.size(), values);
  PetscCall(MatSeqAIJRestoreArrayWrite(c, &values));
  PetscCall(finish(c));
  PetscFunctionReturn(0);
}

/// As PETSc does: C's rows are in blocks as those of its first factor, its columns as the last's.
PetscErrorCode set_block_sizes(Mat c, Mat left, Mat right) {
  PetscFunctionBegin;
  PetscInt left_rows = 1, left_cols = 1, right_rows = 1, right_cols = 1;
  PetscCall(MatGetBlockSizes(left, &left_rows, &left_cols));
  PetscCall(MatGetBlockSizes(right, &right_rows, &right_cols));
  switch (c->product->type) {
  case MATPRODUCT_AtB: PetscCall(MatSetBlockSizes(c, left_cols, right_cols)); break;
  case MATPRODUCT_ABt: PetscCall(MatSetBlockSizes(c, left_rows, right_rows)); break;
  case MATPRODUCT_PtAP: PetscCall(MatSetBlockSizes(c, right_cols, right_cols)); break;
  case MATPRODUCT_RARt: PetscCall(MatSetBlockSizes(c, right_rows, right_rows)); break;
  default: PetscCall(MatSetBlockSizes(c, left_rows, right_cols));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode symbolic(Mat c) {
  PetscFunctionBegin;
  const Mat left = c->product->A, right = c->product->B;
  matrix_view a, b;
  PetscCall(view_with_order(left, a));
  PetscCall(view_with_order(right, b));
  settings s;
  PetscCall(read_settings(reinterpret_cast<PetscObject>(left), s));
  std::unique_ptr<kept_product> k(
      new kept_product{host_context({static_cast<int>(s.threads)}), {}});
  PetscCall(PetscLogEventBegin(events().product_symbolic, c, nullptr, nullptr, nullptr));
  const PetscErrorCode failed = guarded([&] {
    PetscFunctionBegin;
    with_factors(c->product->type, a, b, compute{k->ctx, k->info});
    const auto [rows, cols] = k->info.result_shape();
    csr<double, petsc_index, petsc_index> made(
        k->ctx, {static_cast<petsc_index>(rows), static_cast<petsc_index>(cols)},
        static_cast<petsc_index>(k->info.result_nnz()));
    with_factors(c->product->type, a, b, fill{k->ctx, k->info, made.view()});
    PetscCall(MatSetSizes(c, static_cast<PetscInt>(rows), static_cast<PetscInt>(cols),
                          static_cast<PetscInt>(rows), static_cast<PetscInt>(cols)));
    PetscCall(set_block_sizes(c, left, right));
    PetscCall(MatSetType(c, matrix_type));
    PetscCall(set_entries(c, made.view()));
    PetscFunctionReturn(0);
  });
  PetscCall(PetscLogEventEnd(events().product_symbolic, c, nullptr, nullptr, nullptr));
  PetscCall(failed);
  PetscCall(remember_states(c, *k));
  c->product->data = k.release();
  c->product->destroy = destroy_kept;
  c->ops->productnumeric = safe<numeric>::call;
  counts().products += 1;
  PetscFunctionReturn(0);
}

} // namespace

PetscErrorCode set_product_from_options(Mat c) {
  PetscFunctionBegin;
  PetscBool left = PETSC_FALSE, right = PETSC_FALSE;
  const Mat_Product& p = *c->product;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(p.A), matrix_type, &left));
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(p.B), matrix_type, &right));
  if (left && right && is_ours(p.type))
    c->ops->productsymbolic = safe<symbolic>::call;
  else
    PetscCall(seqaij_operations().productsetfromoptions(c));
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc
