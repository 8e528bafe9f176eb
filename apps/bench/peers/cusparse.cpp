// cuSPARSE: the generic API on CSR with 32-bit indices, every algorithm it has for it, each with
// its pre-processing done in prepare.
#include "bench/peers/cusparse_session.hpp"
#include "bench/peers/peers.hpp"

namespace lacuna::bench {
namespace {

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
                         x.layout() == layout::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL),
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

/// SpSV on a lower triangle with its diagonal; the analysis is done in prepare.
template <class T> class cusparse_triangle : public prepared {
public:
  cusparse_triangle(shared_session s, const device_problem<T>& p)
      : s_(std::move(s)), a_(s_->api, p.a), x_(s_->api, p.x.data(), p.x.shape().row),
        y_(s_->api, p.y.data(), p.y.shape().row) {
    const auto& api = s_->api;
    auto fill_mode = CUSPARSE_FILL_MODE_LOWER;
    auto diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
    api.require(
        api.set_attribute(a_.get(), CUSPARSE_SPMAT_FILL_MODE, &fill_mode, sizeof(fill_mode)),
        "cusparseSpMatSetAttribute");
    api.require(api.set_attribute(a_.get(), CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)),
                "cusparseSpMatSetAttribute");
    api.require(api.spsv_create(&description_), "cusparseSpSV_createDescr");
    try {
      api.require(api.spsv_buffer(s_->handle, op, &one_, a_.get(), x_.get(), y_.get(),
                                  value_type<T>, CUSPARSE_SPSV_ALG_DEFAULT, description_, &bytes_),
                  "cusparseSpSV_bufferSize");
      buffer_ = new_buffer(s_->context, bytes_);
      api.require(api.spsv_analysis(s_->handle, op, &one_, a_.get(), x_.get(), y_.get(),
                                    value_type<T>, CUSPARSE_SPSV_ALG_DEFAULT, description_,
                                    buffer_.data()),
                  "cusparseSpSV_analysis");
      s_->context.synchronize();
    } catch (...) {
      api.spsv_destroy(description_);
      throw;
    }
  }
  ~cusparse_triangle() override { s_->api.spsv_destroy(description_); }
  void run() override {
    s_->api.require(s_->api.spsv(s_->handle, op, &one_, a_.get(), x_.get(), y_.get(), value_type<T>,
                                 CUSPARSE_SPSV_ALG_DEFAULT, description_),
                    "cusparseSpSV_solve");
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return bytes_; }

private:
  static constexpr cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  shared_session s_;
  matrix_description<T> a_;
  vector_description<T> x_, y_;
  cusparseSpSVDescr_t description_ = nullptr;
  std::size_t bytes_ = 0;
  array<char, space::device> buffer_;
  T one_ = 1;
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
  peer<T, space::device> cusparse = {
      "cuSPARSE",
      about,
      {spmv<T>(s, suite::spmv, "cuSPARSE alg 1", CUSPARSE_SPMV_CSR_ALG1),
       spmv<T>(s, suite::spmv, "cuSPARSE alg 2", CUSPARSE_SPMV_CSR_ALG2),
       spmv<T>(s, suite::spmv_t, "cuSPARSE", CUSPARSE_SPMV_ALG_DEFAULT),
       spmm<T>(s, "cuSPARSE alg 1", CUSPARSE_SPMM_CSR_ALG1),
       spmm<T>(s, "cuSPARSE alg 2", CUSPARSE_SPMM_CSR_ALG2),
       spmm<T>(s, "cuSPARSE alg 3", CUSPARSE_SPMM_CSR_ALG3),
       {"cuSPARSE", role::peer, {suite::trisolve}, [s](const device_problem<T>& p) {
          return std::make_unique<cusparse_triangle<T>>(s, p);
        }}}};
  for (auto& each : cusparse_results<T>(s)) cusparse.contestants.push_back(std::move(each));
  return cusparse;
}

template peer<float, space::device> cusparse_peer(const device_context&);
template peer<double, space::device> cusparse_peer(const device_context&);

} // namespace lacuna::bench
