// cuSPARSE: the generic API on CSR with 32-bit indices, every algorithm it has for it, each with
// its pre-processing done in prepare.
#include <algorithm>

#include "bench/peers/cusparse_api.hpp"
#include "bench/peers/peers.hpp"
#include <lacuna/op/multiply.hpp>

namespace lacuna::bench {
namespace {

template <class T>
constexpr cudaDataType value_type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
template <class T> using device_problem = problem<T, space::device>;

/// A library handle on a stream, shared by all products.
struct session {
  session(const shared_library& lib, const device_context& ctx) : api(lib), context(ctx) {
    api.require(api.create(&handle), "cusparseCreate");
    if (const auto status = api.set_stream(handle, ctx.stream());
        status != CUSPARSE_STATUS_SUCCESS) {
      api.destroy(handle);
      api.require(status, "cusparseSetStream");
    }
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { api.destroy(handle); }

  cusparse_api api;
  device_context context;
  cusparseHandle_t handle = nullptr;
};
using shared_session = std::shared_ptr<const session>;

/// Owns the description of A; the arrays stay the problem's.
template <class T> class matrix_description {
public:
  matrix_description(const cusparse_api& api, csr_view<const T, index_t, offset_t, space::device> a)
      : api_(api) {
    // The call without const exists in all versions; products only read through it.
    api.require(api.create_csr(&a_, a.shape().row, a.shape().col, a.size(),
                               const_cast<offset_t*>(a.rowptr().data()),
                               const_cast<index_t*>(a.colind().data()),
                               const_cast<T*>(a.values().data()), CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, value_type<T>),
                "cusparseCreateCsr");
  }
  matrix_description(const matrix_description&) = delete;
  matrix_description& operator=(const matrix_description&) = delete;
  ~matrix_description() { api_.destroy_matrix(a_); }
  [[nodiscard]] cusparseSpMatDescr_t get() const { return a_; }

private:
  const cusparse_api& api_;
  cusparseSpMatDescr_t a_ = nullptr;
};

template <class T> class vector_description {
public:
  vector_description(const cusparse_api& api, const T* data, std::int64_t size) : api_(api) {
    api.require(api.create_vector(&v_, size, const_cast<T*>(data), value_type<T>),
                "cusparseCreateDnVec");
  }
  vector_description(const vector_description&) = delete;
  vector_description& operator=(const vector_description&) = delete;
  ~vector_description() { api_.destroy_vector(v_); }
  [[nodiscard]] cusparseDnVecDescr_t get() const { return v_; }

private:
  const cusparse_api& api_;
  cusparseDnVecDescr_t v_ = nullptr;
};

template <class T> class dense_description {
public:
  dense_description(const cusparse_api& api, dense_view<const T, space::device> x) : api_(api) {
    api.require(
        api.create_dense(&x_, x.shape().row, x.shape().col, x.ld(), const_cast<T*>(x.data()),
                         value_type<T>,
                         x.order() == layout::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL),
        "cusparseCreateDnMat");
  }
  dense_description(const dense_description&) = delete;
  dense_description& operator=(const dense_description&) = delete;
  ~dense_description() { api_.destroy_dense(x_); }
  [[nodiscard]] cusparseDnMatDescr_t get() const { return x_; }

private:
  const cusparse_api& api_;
  cusparseDnMatDescr_t x_ = nullptr;
};

/// Never a null pointer: not all versions take one, even for 0 bytes.
array<char, space::device> new_buffer(const device_context& ctx, std::size_t bytes) {
  return {ctx, std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 16)};
}

template <class T> class cusparse_vector : public prepared {
public:
  cusparse_vector(shared_session s, const device_problem<T>& p, cusparseSpMVAlg_t algorithm)
      : s_(std::move(s)), a_(s_->api, p.a), x_(s_->api, p.x.data(), p.x.shape().row),
        y_(s_->api, p.y.data(), p.y.shape().row), algorithm_(algorithm),
        op_(p.transposed() ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE) {
    const auto& api = s_->api;
    api.require(api.spmv_buffer(s_->handle, op_, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                value_type<T>, algorithm_, &bytes_),
                "cusparseSpMV_bufferSize");
    buffer_ = new_buffer(s_->context, bytes_);
    if (api.spmv_preprocess != nullptr)
      api.require(api.spmv_preprocess(s_->handle, op_, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                      value_type<T>, algorithm_, buffer_.data()),
                  "cusparseSpMV_preprocess");
    s_->context.synchronize();
  }
  void run() override {
    s_->api.require(s_->api.spmv(s_->handle, op_, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                 value_type<T>, algorithm_, buffer_.data()),
                    "cusparseSpMV");
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return bytes_; }

private:
  shared_session s_;
  matrix_description<T> a_;
  vector_description<T> x_, y_;
  cusparseSpMVAlg_t algorithm_;
  cusparseOperation_t op_;
  std::size_t bytes_ = 0;
  array<char, space::device> buffer_;
  T one_ = 1, zero_ = 0;
};

template <class T> class cusparse_matrix : public prepared {
public:
  cusparse_matrix(shared_session s, const device_problem<T>& p, cusparseSpMMAlg_t algorithm)
      : s_(std::move(s)), a_(s_->api, p.a), x_(s_->api, p.x), y_(s_->api, p.y),
        algorithm_(algorithm) {
    const auto& api = s_->api;
    api.require(api.spmm_buffer(s_->handle, op, op, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                value_type<T>, algorithm_, &bytes_),
                "cusparseSpMM_bufferSize");
    buffer_ = new_buffer(s_->context, bytes_);
    api.require(api.spmm_preprocess(s_->handle, op, op, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                    value_type<T>, algorithm_, buffer_.data()),
                "cusparseSpMM_preprocess");
    s_->context.synchronize();
  }
  void run() override {
    s_->api.require(s_->api.spmm(s_->handle, op, op, &one_, a_.get(), x_.get(), &zero_, y_.get(),
                                 value_type<T>, algorithm_, buffer_.data()),
                    "cusparseSpMM");
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return bytes_; }

private:
  static constexpr cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  shared_session s_;
  matrix_description<T> a_;
  dense_description<T> x_, y_;
  cusparseSpMMAlg_t algorithm_;
  std::size_t bytes_ = 0;
  array<char, space::device> buffer_;
  T one_ = 1, zero_ = 0;
};

/// C = A + B by csrgeam2 or C = A^T by csr2csc: sizes, buffer and C's memory anew each time, from
/// Lacuna's pool.
template <class T> class cusparse_result : public prepared {
public:
  cusparse_result(shared_session s, const device_problem<T>& p) : s_(std::move(s)), p_(p) {
    s_->api.require(s_->api.create_description(&plain_), "cusparseCreateMatDescr");
  }
  cusparse_result(const cusparse_result&) = delete;
  cusparse_result& operator=(const cusparse_result&) = delete;
  ~cusparse_result() override { s_->api.destroy_description(plain_); }
  void run() override {
    c_ = {};
    if (p_.what == suite::add)
      add();
    else
      transpose();
  }
  void fetch() override {
    multiply(s_->context, c_, vector_view<const T, space::device>(p_.x.data(), p_.x.shape().row),
             vector_view<T, space::device>(p_.y.data(), p_.y.shape().row));
    s_->context.synchronize();
  }

private:
  using matrix = csr<T, index_t, offset_t, space::device>;
  void add() {
    const auto& api = s_->api;
    const auto &a = p_.a, &b = p_.b;
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
    c_ = matrix(a.shape(), std::move(rowptr), std::move(colind), std::move(values), {true, true});
  }
  void transpose() {
    const auto& api = s_->api;
    const auto& a = p_.a;
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
    c_ = std::move(c);
  }

  shared_session s_;
  device_problem<T> p_;
  cusparseMatDescr_t plain_ = nullptr;
  matrix c_;
};

template <class T>
contestant<T, space::device> spmv(const shared_session& s, suite in, const char* name,
                                  cusparseSpMVAlg_t algorithm) {
  return {name, role::peer, {in}, [=](const device_problem<T>& p) {
            return std::make_unique<cusparse_vector<T>>(s, p, algorithm);
          }};
}
template <class T>
contestant<T, space::device> spmm(const shared_session& s, const char* name,
                                  cusparseSpMMAlg_t algorithm) {
  return {name, role::peer, {suite::spmm}, [=](const device_problem<T>& p) {
            return std::make_unique<cusparse_matrix<T>>(s, p, algorithm);
          }};
}

} // namespace

template <class T> peer<T, space::device> cusparse_peer(const device_context& ctx) {
  const auto lib = shared_library::first_of(cusparse_places(), RTLD_LOCAL);
  if (!lib)
    return {"cuSPARSE",
            "not loaded (LACUNA_CUSPARSE says where libcusparse.so.12 is)" + lib.trouble(),
            {}};
  const auto s = std::make_shared<const session>(lib, ctx);
  int version = 0;
  s->api.require(s->api.get_version(s->handle, &version), "cusparseGetVersion");
  const std::string about =
      std::to_string(version / 1000) + "." + std::to_string(version / 100 % 10) + "." +
      std::to_string(version % 100) +
      (s->api.spmv_preprocess == nullptr ? ", without SpMV_preprocess" : "") + ", " + lib.path();
  return {"cuSPARSE",
          about,
          {spmv<T>(s, suite::spmv, "cuSPARSE alg 1", CUSPARSE_SPMV_CSR_ALG1),
           spmv<T>(s, suite::spmv, "cuSPARSE alg 2", CUSPARSE_SPMV_CSR_ALG2),
           spmv<T>(s, suite::spmv_t, "cuSPARSE", CUSPARSE_SPMV_ALG_DEFAULT),
           spmm<T>(s, "cuSPARSE alg 1", CUSPARSE_SPMM_CSR_ALG1),
           spmm<T>(s, "cuSPARSE alg 2", CUSPARSE_SPMM_CSR_ALG2),
           spmm<T>(s, "cuSPARSE alg 3", CUSPARSE_SPMM_CSR_ALG3),
           {"cuSPARSE", role::peer, matrix_suites, [s](const device_problem<T>& p) {
              return std::make_unique<cusparse_result<T>>(s, p);
            }}}};
}

template peer<float, space::device> cusparse_peer(const device_context&);
template peer<double, space::device> cusparse_peer(const device_context&);

} // namespace lacuna::bench
