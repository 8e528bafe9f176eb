// cuSPARSE where the result is a matrix: csrgeam2, csr2csc and SpGEMM with all its steps. Every run
// allocates buffers and C from Lacuna's pool, which is faster than cudaMalloc, and lets go of them.
#include <cuda_runtime_api.h>

#include "bench/peers/cusparse_session.hpp"
#include <lacuna/op/multiply.hpp>

namespace lacuna::bench {
namespace {

/// y = C x, by Lacuna.
template <class T>
void multiply_result(const session& s, const csr<T, index_t, offset_t, space::device>& c,
                     const device_problem<T>& p) {
  multiply(s.context, c, vector_view<const T, space::device>(p.x.data(), p.x.shape().row),
           vector_view<T, space::device>(p.y.data(), p.y.shape().row));
  s.context.synchronize();
}

/// C = A + B by csrgeam2, C = A^T by csr2csc, C = A + A^T by both: sizes, buffer and C's memory
/// anew each time, from Lacuna's pool.
template <class T> class cusparse_result : public prepared {
public:
  cusparse_result(shared_session s, const device_problem<T>& p) : s_(std::move(s)), p_(p) {
    s_->api.require(s_->api.create_description(&plain_), "cusparseCreateMatDescr");
  }
  cusparse_result(const cusparse_result&) = delete;
  cusparse_result& operator=(const cusparse_result&) = delete;
  ~cusparse_result() override { s_->api.destroy_description(plain_); }
  void run() override {
    switch (p_.what) {
    case suite::add: c_ = add(p_.a, p_.b); break;
    case suite::add_t: {
      const matrix turned = transpose(p_.a);
      c_ = add(p_.a, turned.view());
      break;
    }
    default: c_ = transpose(p_.a);
    }
  }
  void fetch() override { multiply_result(*s_, c_, p_); }

  void forget() override { c_ = {}; }

private:
  using matrix = csr<T, index_t, offset_t, space::device>;
  using view = csr_view<const T, index_t, offset_t, space::device>;
  [[nodiscard]] matrix add(view a, view b) const {
    const auto& api = s_->api;
    const T one = 1;
    const int m = a.shape().row, n = a.shape().col;
    array<offset_t, space::device> rowptr(s_->context, std::int64_t{m} + 1);
    std::size_t bytes = 0;
    api.require(api.template add_buffer<T>()(
                    s_->handle, m, n, &one, plain_, a.size(), a.values().data(), a.rowptr().data(),
                    a.colind().data(), &one, plain_, b.size(), b.values().data(), b.rowptr().data(),
                    b.colind().data(), plain_, nullptr, rowptr.data(), nullptr, &bytes),
                "cusparseXcsrgeam2_bufferSizeExt");
    auto buffer = new_buffer(s_->context, bytes);
    int entries = 0;
    api.require(api.add_count(s_->handle, m, n, plain_, a.size(), a.rowptr().data(),
                              a.colind().data(), plain_, b.size(), b.rowptr().data(),
                              b.colind().data(), plain_, rowptr.data(), &entries, buffer.data()),
                "cusparseXcsrgeam2Nnz");
    array<index_t, space::device> colind(s_->context, entries);
    array<T, space::device> values(s_->context, entries);
    api.require(api.template add<T>()(s_->handle, m, n, &one, plain_, a.size(), a.values().data(),
                                      a.rowptr().data(), a.colind().data(), &one, plain_, b.size(),
                                      b.values().data(), b.rowptr().data(), b.colind().data(),
                                      plain_, values.data(), rowptr.data(), colind.data(),
                                      buffer.data()),
                "cusparseXcsrgeam2");
    return {a.shape(), std::move(rowptr), std::move(colind), std::move(values), {true, true}};
  }
  [[nodiscard]] matrix transpose(view a) const {
    const auto& api = s_->api;
    const int m = a.shape().row, n = a.shape().col;
    matrix c(s_->context, {n, m}, a.size());
    std::size_t bytes = 0;
    api.require(api.transpose_buffer(s_->handle, m, n, a.size(), a.values().data(),
                                     a.rowptr().data(), a.colind().data(), c.values().data(),
                                     c.rowptr().data(), c.colind().data(), value_type<T>,
                                     CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                     CUSPARSE_CSR2CSC_ALG1, &bytes),
                "cusparseCsr2cscEx2_bufferSize");
    auto buffer = new_buffer(s_->context, bytes);
    api.require(api.transpose(s_->handle, m, n, a.size(), a.values().data(), a.rowptr().data(),
                              a.colind().data(), c.values().data(), c.rowptr().data(),
                              c.colind().data(), value_type<T>, CUSPARSE_ACTION_NUMERIC,
                              CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, buffer.data()),
                "cusparseCsr2cscEx2");
    return c;
  }

  shared_session s_;
  device_problem<T> p_;
  cusparseMatDescr_t plain_ = nullptr;
  matrix c_;
};

/// What SpGEMM's steps hand to each other.
class spgemm_description {
public:
  explicit spgemm_description(const cusparse_api& api) : api_(api) {
    api.require(api.spgemm_create(&d_), "cusparseSpGEMM_createDescr");
  }
  spgemm_description(const spgemm_description&) = delete;
  spgemm_description& operator=(const spgemm_description&) = delete;
  ~spgemm_description() { api_.spgemm_destroy(d_); }
  [[nodiscard]] cusparseSpGEMMDescr_t get() const { return d_; }

private:
  const cusparse_api& api_;
  cusparseSpGEMMDescr_t d_ = nullptr;
};

/// C = A B. Algorithms 2 and 3 take less memory: they are told what they may have.
template <class T> class cusparse_product : public prepared {
public:
  cusparse_product(shared_session s, const device_problem<T>& p, cusparseSpGEMMAlg_t algorithm)
      : s_(std::move(s)), p_(p), algorithm_(algorithm), a_(s_->api, p.a), b_(s_->api, p.b) {
    if (estimates() && s_->api.spgemm_memory == nullptr)
      throw unsupported("this cuSPARSE has no cusparseSpGEMM_estimateMemory");
    s_->context.trim(); // what cuSPARSE allocates itself does not come from the pool
  }
  void run() override {
    try {
      multiply_all();
    } catch (...) {
      (void)cudaGetLastError(); // what failed inside must not be found by the next contestant
      throw;
    }
  }
  void fetch() override { multiply_result(*s_, c_, p_); }
  void forget() override { c_ = {}; }

private:
  using matrix = csr<T, index_t, offset_t, space::device>;
  using buffer = array<char, space::device>;
  static constexpr cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  [[nodiscard]] bool estimates() const { return algorithm_ != CUSPARSE_SPGEMM_DEFAULT; }

  void multiply_all() {
    const auto& api = s_->api;
    const auto& ctx = s_->context;
    const spgemm_description d(api);
    array<offset_t, space::device> rowptr(ctx, std::int64_t{p_.a.shape().row} + 1);
    const matrix_description<T> c(
        api, {nullptr, rowptr.data(), nullptr, {p_.a.shape().row, p_.b.shape().col}, 0});
    // Every step but the last begins with the same arguments.
    const auto step = [&](auto* call, const char* name, auto... more) {
      api.require(call(s_->handle, op, op, &one_, a_.get(), b_.get(), &zero_, c.get(),
                       value_type<T>, algorithm_, d.get(), more...),
                  name);
    };
    std::size_t bytes = 0;
    step(api.spgemm_work, "cusparseSpGEMM_workEstimation", &bytes, nullptr);
    buffer work = new_buffer(ctx, bytes);
    step(api.spgemm_work, "cusparseSpGEMM_workEstimation", &bytes, work.data());
    std::size_t compute_bytes = 0;
    if (estimates()) {
      constexpr float chunk = 0.2F; // of the products that algorithm 3 has in memory at once
      step(api.spgemm_memory, "cusparseSpGEMM_estimateMemory", chunk, &bytes, nullptr, nullptr);
      buffer estimation = new_buffer(ctx, bytes);
      step(api.spgemm_memory, "cusparseSpGEMM_estimateMemory", chunk, &bytes, estimation.data(),
           &compute_bytes);
    } else {
      step(api.spgemm_compute, "cusparseSpGEMM_compute", &compute_bytes, nullptr);
    }
    buffer computing = new_buffer(ctx, compute_bytes);
    step(api.spgemm_compute, "cusparseSpGEMM_compute", &compute_bytes, computing.data());
    std::int64_t rows = 0, cols = 0, entries = 0;
    api.require(api.matrix_size(c.get(), &rows, &cols, &entries), "cusparseSpMatGetSize");
    array<index_t, space::device> colind(ctx, entries);
    array<T, space::device> values(ctx, entries);
    api.require(api.set_csr(c.get(), rowptr.data(), colind.data(), values.data()),
                "cusparseCsrSetPointers");
    step(api.spgemm_copy, "cusparseSpGEMM_copy");
    // Buffers go back in the stream's order, after the copy.
    c_ = matrix({p_.a.shape().row, p_.b.shape().col}, std::move(rowptr), std::move(colind),
                std::move(values), {});
  }

  shared_session s_;
  device_problem<T> p_;
  cusparseSpGEMMAlg_t algorithm_;
  matrix_description<T> a_, b_;
  matrix c_;
  T one_ = 1, zero_ = 0;
};

} // namespace

template <class T>
std::vector<contestant<T, space::device>> cusparse_results(const shared_session& s) {
  const auto product = [&s](const char* name, cusparseSpGEMMAlg_t algorithm) {
    return contestant<T, space::device>{
        name, role::peer, {suite::spgemm}, [s, algorithm](const device_problem<T>& p) {
          return std::make_unique<cusparse_product<T>>(s, p, algorithm);
        }};
  };
  return {{"cuSPARSE",
           role::peer,
           {suite::add, suite::add_t, suite::transpose},
           [s](const device_problem<T>& p) { return std::make_unique<cusparse_result<T>>(s, p); }},
          product("cuSPARSE alg 1", CUSPARSE_SPGEMM_DEFAULT),
          product("cuSPARSE alg 2", CUSPARSE_SPGEMM_ALG2),
          product("cuSPARSE alg 3", CUSPARSE_SPGEMM_ALG3)};
}

template std::vector<contestant<float, space::device>> cusparse_results(const shared_session&);
template std::vector<contestant<double, space::device>> cusparse_results(const shared_session&);

} // namespace lacuna::bench
