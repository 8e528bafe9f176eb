// What the plug-in does where memory fails, in every single place: PETSc gets an error with a
// message, and the same call works when there is memory again.
#include <cstdlib>
#include <new>

#include "fault/failing_allocator.hpp"
#include "petsc/session.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

/// Plain `new`s until one fails, while it is not negative. PETSc itself calls malloc.
thread_local int allowed_news = -1;
thread_local bool new_failed = false;

} // namespace
} // namespace lacuna::test

// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is the allocator
void* operator new(std::size_t bytes) {
  using namespace lacuna::test;
  if (allowed_news >= 0 && allowed_news-- == 0) {
    new_failed = true;
    allowed_news = -1; // what is made of the exception needs memory
    throw std::bad_alloc();
  }
  if (void* p = std::malloc(bytes != 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace lacuna::test {
namespace {

class PetscFault : public Petsc {
protected:
  /// From now on blocks are on a device, if there is one: its pinned buffers, which stay, are made.
  static bool begin_device() {
    if (device_count() == 0) return false;
    set("-lacuna_device", "cuda");
    const auto a = gen::generate<double, int, int>("poisson2d:n=4");
    Mat first = make_mat(a, "seqaijlacuna");
    Vec x = make_vec(16, 1), y = make_vec(16, 2);
    {
      const failing_allocator hook(0);
      EXPECT_NE(error_of([&] { return MatMult(first, x, y); }), "");
    }
    ok(MatMult(first, x, y));
    for (Vec* v : {&x, &y}) ok(VecDestroy(v));
    ok(MatDestroy(&first));
    return true;
  }
  /// prepare() and then call(), with the n-th array, then the n-th `new` of the call failing, until
  /// none does; after each failure the call is made again, and check() looks at what it did.
  template <class Prepare, class Call, class Check>
  void fail_everywhere(int least, Prepare prepare, Call call, Check check) {
    for (const bool arrays : {true, false}) {
      SCOPED_TRACE(arrays ? "arrays" : "new");
      int n = 0;
      std::int64_t prepared = 0;
      for (;; ++n) {
        SCOPED_TRACE(n);
        prepare();
        const std::int64_t now = memory(space::host).in_use + memory(space::device).in_use;
        if (n == 0) prepared = now;
        EXPECT_LE(now, prepared) << "leak";
        std::string said;
        bool hit = false;
        if (arrays) {
          const failing_allocator hook(n);
          said = error_of(call);
          hit = failed;
        } else {
          new_failed = false;
          said = error_of([&] {
            allowed_news = n;
            const PetscErrorCode code = call();
            allowed_news = -1;
            return code;
          });
          hit = new_failed;
        }
        // A `new` may be done without, an array never.
        const bool reported = said.rfind("55: Lacuna: out of", 0) == 0;
        EXPECT_TRUE(hit ? reported || (said.empty() && !arrays) : said.empty()) << said;
        EXPECT_EQ(said.empty() ? said : error_of(call), "") << "after a failure";
        check();
        if (!hit || HasFailure()) break;
      }
      EXPECT_GE(n, least);
    }
  }
};

TEST_F(PetscFault, ProductsWithVectors) {
  const auto a = gen::generate<double, int, int>("fem3d:n=4,dof=3");
  const PetscInt n = a.shape().row;
  Vec x = make_vec(n, 1), y = make_vec(n, 2), want = make_vec(n, 3);
  Mat ours = nullptr;
  for (const char* format : {"ell_csr", "bsr", "csr_k", "on a device"}) {
    SCOPED_TRACE(format);
    if (std::string(format) == "on a device" && !begin_device()) continue;
    Mat theirs = make_mat(a, MATSEQAIJ);
    set("-lacuna_format", std::string(format) == "on a device" ? "packed_csr" : format);
    ok(MatMult(theirs, x, want));
    fail_everywhere(
        2,
        [&] {
          if (ours != nullptr) ok(MatDestroy(&ours));
          ours = make_mat(a, "seqaijlacuna");
        },
        [&] { return MatMult(ours, x, y); }, [&] { EXPECT_LT(difference(want, y), 1e-13); });
    // New values: the old plan stays as it was until they are in.
    ok(MatMult(ours, x, y));
    ok(MatScale(theirs, 1.5));
    ok(MatMult(theirs, x, want));
    fail_everywhere(
        0, [&] { ok(MatCopy(theirs, ours, SAME_NONZERO_PATTERN)); },
        [&] { return MatMult(ours, x, y); }, [&] { EXPECT_LT(difference(want, y), 1e-13); });
    ok(MatMultTranspose(theirs, x, want));
    ok(MatMultTranspose(ours, x, y));
    fail_everywhere( // a device has storage of its own for it
        0, [&] { ok(MatScale(ours, 1)); }, [&] { return MatMultTranspose(ours, x, y); },
        [&] { EXPECT_LT(difference(want, y), 1e-13); });
    ok(MatDestroy(&ours));
    ok(MatDestroy(&theirs));
  }
  for (Vec* v : {&x, &y, &want}) ok(VecDestroy(v));
}

TEST_F(PetscFault, Conversions) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=6");
  Vec x = make_vec(36, 1), y = make_vec(36, 2), want = make_vec(36, 3);
  Mat theirs = make_mat(a, MATSEQAIJ), other = make_mat(a, MATSEQAIJ);
  ok(MatMult(theirs, x, want));
  fail_everywhere(
      0, [&] { ok(MatConvert(other, MATSEQAIJ, MAT_INPLACE_MATRIX, &other)); },
      [&] { return MatConvert(other, "seqaijlacuna", MAT_INPLACE_MATRIX, &other); },
      [&] {
        ok(MatMult(other, x, y));
        EXPECT_LT(difference(want, y), 1e-13);
      });
  for (Vec* v : {&x, &y, &want}) ok(VecDestroy(v));
  for (Mat* m : {&theirs, &other}) ok(MatDestroy(m));
}

TEST_F(PetscFault, ProductsOfMatrices) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=8");
  Mat ours = make_mat(a, "seqaijlacuna"), theirs = make_mat(a, MATSEQAIJ), c = nullptr,
      want = nullptr;
  ok(MatPtAP(theirs, theirs, MAT_INITIAL_MATRIX, 1, &want));
  fail_everywhere(
      5,
      [&] {
        if (c != nullptr) ok(MatDestroy(&c));
      },
      [&] { return MatPtAP(ours, ours, MAT_INITIAL_MATRIX, 1, &c); },
      [&] { EXPECT_LT(difference(c, want), 1e-13); });
  fail_everywhere(
      0,
      [&] {
        ok(MatScale(ours, 2));
        ok(MatScale(want, 8));
      },
      [&] { return MatPtAP(ours, ours, MAT_REUSE_MATRIX, 1, &c); },
      [&] { EXPECT_LT(difference(c, want), 1e-13); });
  for (Mat* m : {&ours, &theirs, &c, &want}) ok(MatDestroy(m));
}

TEST_F(PetscFault, Amg) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=12");
  set("-pc_lacunaamg_coarse_rows", "20");
  Mat matrix = make_mat(a, "seqaijlacuna");
  Vec r = make_vec(144, 1), z = make_vec(144, 2), want = make_vec(144, 3);
  const auto make_pc = [&](PC* pc) {
    if (*pc != nullptr) ok(PCDestroy(pc));
    ok(PCCreate(PETSC_COMM_SELF, pc));
    ok(PCSetType(*pc, "lacunaamg"));
    ok(PCSetFromOptions(*pc));
    ok(PCSetOperators(*pc, matrix, matrix));
  };
  PC pc = nullptr;
  for (const bool on_device : {false, true}) {
    SCOPED_TRACE(on_device ? "on a device" : "");
    if (on_device && !begin_device()) continue;
    make_pc(&pc);
    ok(PCApply(pc, r, want));
    fail_everywhere(
        30, [&] { make_pc(&pc); }, [&] { return PCApply(pc, r, z); },
        [&] { EXPECT_LT(difference(want, z), 1e-13); });
    double factor = 0.5;
    fail_everywhere( // new values, up and down
        10,
        [&] {
          ok(MatScale(matrix, factor));
          ok(VecScale(want, 1 / factor));
          factor = 1 / factor;
        },
        [&] { return PCApply(pc, r, z); }, [&] { EXPECT_LT(difference(want, z), 1e-12); });
  }
  ok(PCDestroy(&pc));
  for (Vec* v : {&r, &z, &want}) ok(VecDestroy(v));
  ok(MatDestroy(&matrix));
}

} // namespace
} // namespace lacuna::test
