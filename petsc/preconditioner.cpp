// The preconditioner lacunaamg: Lacuna's algebraic multigrid for the matrix of one rank, alone or
// as the solver of blocks under bjacobi and asm. Of several ranks' matrix it is refused.
#include <array>
#include <memory>
#include <vector>

#include <petscpc.h>

#include "device.hpp"
#include <lacuna/op/copy.hpp>
#include <lacuna/solver/amg.hpp>

namespace lacuna::petsc {
namespace {

/// A hierarchy where it runs; vectors are PETSc's, in host memory. It keeps a copy of the matrix:
/// applications between two set-ups see the one that was set up, whatever becomes of the arrays.
class local_hierarchy {
public:
  virtual ~local_hierarchy() = default;
  virtual void update_values(matrix_view a) = 0;
  virtual void apply(const double* r, double* z) = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
};

class host_hierarchy final : public local_hierarchy {
public:
  host_hierarchy(const host_context& ctx, matrix_view a, const amg_options& options)
      : ctx_(ctx), amg_(ctx_, copy_to(ctx_, a), options) {}
  void update_values(matrix_view a) override { amg_.update_values(ctx_, copy_to(ctx_, a)); }
  void apply(const double* r, double* z) override {
    amg_.apply(ctx_, vector_view<const double>(r, size()), vector_view<double>(z, size()));
  }
  [[nodiscard]] std::int64_t size() const override { return amg_.size(); }
  [[nodiscard]] std::string explain() const override { return amg_.explain(); }

private:
  host_context ctx_;
  amg<double> amg_;
};

class device_hierarchy final : public local_hierarchy {
public:
  device_hierarchy(std::shared_ptr<rank_device> device, matrix_view a, const amg_options& options)
      : device_(std::move(device)), r_(device_->ctx, a.shape().row),
        z_(device_->ctx, a.shape().row), amg_(device_->ctx, copy_to(device_->ctx, a), options) {}
  void update_values(matrix_view a) override {
    amg_.update_values(device_->ctx, copy_to(device_->ctx, a));
  }
  void apply(const double* r, double* z) override {
    device_->through.send(vector_view<const double>(r, size()), r_);
    amg_.apply(device_->ctx, std::as_const(r_).view(), z_.view());
    device_->through.fetch(z_, vector_view<double>(z, size()));
  }
  [[nodiscard]] std::int64_t size() const override { return amg_.size(); }
  [[nodiscard]] std::string explain() const override { return amg_.explain(); }

private:
  std::shared_ptr<rank_device> device_;
  array<double, space::device> r_, z_;
  amg<double, space::device> amg_;
};

/// Kept in PC::data.
struct kept_amg {
  amg_options options;
  std::unique_ptr<local_hierarchy> hierarchy;
  PetscObjectState nonzero_state = -1;
};

kept_amg& kept(PC pc) { return *static_cast<kept_amg*>(pc->data); }

/// The matrix of this rank, which must be all of it.
PetscErrorCode local_matrix(PC pc, Mat& a) {
  PetscFunctionBegin;
  PetscMPIInt ranks = 0;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), &ranks));
  PetscCheck(ranks == 1, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_SUP,
             "-pc_type lacunaamg is for the matrix of one rank, this one has %d: "
             "-pc_type bjacobi or asm with -sub_pc_type lacunaamg",
             ranks);
  a = pc->pmat;
  PetscBool sequential = PETSC_FALSE, distributed = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQAIJ, &sequential));
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(a), MATMPIAIJ, &distributed));
  if (distributed) PetscCall(MatGetDiagonalBlock(a, &a));
  PetscCheck(sequential || distributed, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "-pc_type lacunaamg takes matrices of type aij, not %s",
             reinterpret_cast<PetscObject>(a)->type_name);
  PetscFunctionReturn(0);
}

/// Unknowns of a node are the matrix's block size, and what it says of its near-null space.
PetscErrorCode read_matrix_facts(Mat a, amg_options& o) {
  PetscFunctionBegin;
  PetscInt block = 1;
  PetscCall(MatGetBlockSize(a, &block));
  o.unknowns_per_node = static_cast<int>(block);
  o.near_null_space.clear();
  MatNullSpace near = nullptr;
  PetscCall(MatGetNearNullSpace(a, &near));
  if (near == nullptr) PetscFunctionReturn(0);
  PetscBool constant = PETSC_FALSE;
  PetscInt vectors = 0;
  const Vec* vector = nullptr;
  PetscCall(MatNullSpaceGetVecs(near, &constant, &vectors, &vector));
  if (constant) o.near_null_space.assign(static_cast<std::size_t>(a->rmap->n), 1.0);
  for (PetscInt k = 0; k < vectors; ++k) {
    const PetscScalar* v = nullptr;
    PetscCall(VecGetArrayRead(vector[k], &v));
    o.near_null_space.insert(o.near_null_space.end(), v, v + a->rmap->n);
    PetscCall(VecRestoreArrayRead(vector[k], &v));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode set_up(PC pc) {
  PetscFunctionBegin;
  kept_amg& k = kept(pc);
  Mat a = nullptr;
  PetscCall(local_matrix(pc, a));
  PetscCall(PetscLogEventBegin(events().amg_setup, pc, nullptr, nullptr, nullptr));
  const PetscErrorCode failed = guarded([&] {
    PetscFunctionBegin;
    matrix_view view;
    PetscCall(view_with_order(a, view));
    settings s;
    PetscCall(read_settings(reinterpret_cast<PetscObject>(pc), s));
    if (k.hierarchy != nullptr && a->nonzerostate == k.nonzero_state &&
        k.hierarchy->size() == view.shape().row) {
      auto updated = std::move(k.hierarchy); // where that fails, the next set-up makes a new one
      updated->update_values(view);
      k.hierarchy = std::move(updated);
      counts().amg_updates += 1;
    } else {
      PetscCall(read_matrix_facts(a, k.options));
      k.hierarchy = nullptr;
      std::shared_ptr<rank_device> device;
      PetscCall(find_device(s, view.size(), device));
      if (device != nullptr)
        k.hierarchy = std::make_unique<device_hierarchy>(std::move(device), view, k.options);
      else
        k.hierarchy = std::make_unique<host_hierarchy>(host_context({static_cast<int>(s.threads)}),
                                                       view, k.options);
      counts().amg_setups += 1;
    }
    k.nonzero_state = a->nonzerostate;
    if (s.explain)
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, stdout, "%s", k.hierarchy->explain().c_str()));
    PetscFunctionReturn(0);
  });
  PetscCall(PetscLogEventEnd(events().amg_setup, pc, nullptr, nullptr, nullptr));
  PetscCall(failed);
  PetscFunctionReturn(0);
}

PetscErrorCode apply(PC pc, Vec r, Vec z) {
  PetscFunctionBegin;
  const kept_amg& k = kept(pc);
  if (k.hierarchy == nullptr) PetscCall(set_up(pc)); // the last one failed
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscCall(VecGetArrayRead(r, &from));
  PetscCall(VecGetArrayWrite(z, &to));
  PetscCall(PetscLogEventBegin(events().amg_apply, pc, nullptr, nullptr, nullptr));
  const PetscErrorCode failed = guarded([&] {
    k.hierarchy->apply(from, to);
    return PetscErrorCode{0};
  });
  PetscCall(PetscLogEventEnd(events().amg_apply, pc, nullptr, nullptr, nullptr));
  PetscCall(VecRestoreArrayRead(r, &from));
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscCall(failed);
  counts().amg_applies += 1;
  PetscFunctionReturn(0);
}

PetscErrorCode reset(PC pc) {
  PetscFunctionBegin;
  kept(pc).hierarchy = nullptr;
  PetscFunctionReturn(0);
}

PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  delete static_cast<kept_amg*>(pc->data);
  pc->data = nullptr;
  PetscFunctionReturn(0);
}

PetscErrorCode set_from_options(PC pc, PetscOptionItems* PetscOptionsObject) { // the macros' name
  PetscFunctionBegin;
  amg_options& o = kept(pc).options;
  static const char* const kinds[] = {"smoothed_aggregation", "classical"};
  static const char* const smoothers[] = {"jacobi", "l1_jacobi", "chebyshev", "gauss_seidel"};
  static const char* const cycles[] = {"v", "w", "k"};
  auto kind = static_cast<PetscInt>(o.kind), smoother = static_cast<PetscInt>(o.smoother),
       cycle = static_cast<PetscInt>(o.cycle);
  PetscInt levels = o.most_levels, coarse = o.coarse_rows, before = o.pre_sweeps,
           after = o.post_sweeps;
  PetscOptionsHeadBegin(PetscOptionsObject, "Lacuna AMG options");
  PetscCall(PetscOptionsEList("-pc_lacunaamg_kind", "smoothed aggregation or classical",
                              "PCSetType", kinds, 2, kinds[kind], &kind, nullptr));
  PetscCall(PetscOptionsEList("-pc_lacunaamg_smoother", "the smoother", "PCSetType", smoothers, 4,
                              smoothers[smoother], &smoother, nullptr));
  PetscCall(PetscOptionsEList("-pc_lacunaamg_cycle", "v, w or k (for flexible methods)",
                              "PCSetType", cycles, 3, cycles[cycle], &cycle, nullptr));
  PetscCall(PetscOptionsReal("-pc_lacunaamg_strength", "connections below it are weak", "PCSetType",
                             o.strength, &o.strength, nullptr));
  PetscCall(PetscOptionsInt("-pc_lacunaamg_levels", "levels at most", "PCSetType", levels, &levels,
                            nullptr));
  PetscCall(PetscOptionsInt("-pc_lacunaamg_coarse_rows", "rows below which a matrix is inverted",
                            "PCSetType", coarse, &coarse, nullptr));
  PetscCall(PetscOptionsInt("-pc_lacunaamg_pre_sweeps", "sweeps before the coarse correction",
                            "PCSetType", before, &before, nullptr));
  PetscCall(PetscOptionsInt("-pc_lacunaamg_post_sweeps", "sweeps after it", "PCSetType", after,
                            &after, nullptr));
  PetscOptionsHeadEnd();
  o.kind = static_cast<amg_kind>(kind);
  o.smoother = static_cast<amg_smoother>(smoother);
  o.cycle = static_cast<amg_cycle>(cycle);
  o.most_levels = static_cast<int>(levels);
  o.coarse_rows = static_cast<int>(coarse);
  o.pre_sweeps = static_cast<int>(before);
  o.post_sweeps = static_cast<int>(after);
  PetscFunctionReturn(0);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscBool text = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &text));
  if (text && kept(pc).hierarchy != nullptr)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s", kept(pc).hierarchy->explain().c_str()));
  PetscFunctionReturn(0);
}

PetscErrorCode create(PC pc) {
  PetscFunctionBegin;
  pc->data = new kept_amg;
  pc->ops->setup = safe<set_up>::call;
  pc->ops->apply = safe<apply>::call;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = safe<view>::call;
  PetscFunctionReturn(0);
}

} // namespace

PetscErrorCode register_preconditioner() {
  PetscFunctionBegin;
  PetscCall(PCRegister(preconditioner_type, safe<create>::call));
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc
