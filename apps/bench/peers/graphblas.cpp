// SuiteSparse:GraphBLAS: mxv and mxm on the plus-times semiring. It keeps 64-bit indices and writes
// results into memory of its own.
#include "bench/peers/graphblas_session.hpp"

#include "bench/peers/peers.hpp"

namespace lacuna::bench {
namespace {

using namespace graphblas;

/// Writes a sparse vector's entries into y, 0 elsewhere.
template <class T> void unpack(GrB_Vector v, T* y, std::int64_t size, std::int64_t stride) {
  GrB_Index count = 0;
  require(GrB_Vector_nvals(&count, v), "GrB_Vector_nvals");
  std::vector<GrB_Index> where(count);
  std::vector<T> values(count);
  if constexpr (single<T>)
    require(GrB_Vector_extractTuples_FP32(where.data(), values.data(), &count, v), "extractTuples");
  else
    require(GrB_Vector_extractTuples_FP64(where.data(), values.data(), &count, v), "extractTuples");
  for (std::int64_t i = 0; i < size; ++i) y[i * stride] = 0;
  for (std::size_t k = 0; k < count; ++k)
    y[static_cast<std::int64_t>(where[k]) * stride] = values[k];
}

template <class T> class graphblas_vector : public prepared {
public:
  explicit graphblas_vector(const host_problem<T>& p)
      : p_(p), a_(packed(p.a)), x_(new_vector(type<T>(), p.x.shape().row)),
        y_(new_vector(type<T>(), p.y.shape().row)) {
    const std::int64_t size = p.x.shape().row;
    void* values = copied<T>(p.x.data(), size);
    require(GxB_Vector_pack_Full(x_.get(), &values, static_cast<GrB_Index>(size) * sizeof(T), false,
                                 nullptr),
            "GxB_Vector_pack_Full");
  }
  void run() override {
    require(GrB_mxv(y_.get(), nullptr, nullptr, plus_times<T>(), a_.get(), x_.get(),
                    p_.transposed() ? GrB_DESC_T0 : nullptr),
            "GrB_mxv");
    require(GrB_Vector_wait(y_.get(), GrB_MATERIALIZE), "GrB_Vector_wait");
  }
  void fetch() override { unpack(y_.get(), p_.y.data(), p_.y.shape().row, 1); }

private:
  host_problem<T> p_;
  matrix a_;
  vector x_, y_;
};

template <class T> class graphblas_matrix : public prepared {
public:
  explicit graphblas_matrix(const host_problem<T>& p)
      : p_(p), a_(packed(p.a)), x_(new_matrix(type<T>(), p.x.shape().row, p.columns())),
        y_(new_matrix(type<T>(), p.y.shape().row, p.columns())) {
    const bool by_row = p.x.layout() == layout::row_major;
    const std::int64_t size = p.x.shape().row * p.columns();
    void* values = copied<T>(p.x.data(), size);
    const auto bytes = static_cast<GrB_Index>(size) * sizeof(T);
    require(by_row ? GxB_Matrix_pack_FullR(x_.get(), &values, bytes, false, nullptr)
                   : GxB_Matrix_pack_FullC(x_.get(), &values, bytes, false, nullptr),
            "GxB_Matrix_pack_Full");
    require(GxB_Matrix_Option_set(y_.get(), GxB_FORMAT, by_row ? GxB_BY_ROW : GxB_BY_COL),
            "GxB_Matrix_Option_set");
  }
  void run() override {
    require(GrB_mxm(y_.get(), nullptr, nullptr, plus_times<T>(), a_.get(), x_.get(), nullptr),
            "GrB_mxm");
    require(GrB_Matrix_wait(y_.get(), GrB_MATERIALIZE), "GrB_Matrix_wait");
  }
  void fetch() override {
    const std::int64_t rows = p_.y.shape().row;
    auto column = new_vector(type<T>(), rows);
    for (std::int64_t j = 0; j < p_.columns(); ++j) {
      require(GrB_Col_extract(column.get(), nullptr, nullptr, y_.get(), GrB_ALL,
                              static_cast<GrB_Index>(rows), static_cast<GrB_Index>(j), nullptr),
              "GrB_Col_extract");
      unpack(column.get(), p_.y.data() + j * p_.y.col_stride(), rows, p_.y.row_stride());
    }
  }

private:
  host_problem<T> p_;
  matrix a_, x_, y_;
};

/// C = A + B, A + A^T, A^T or A B, a new matrix each time.
template <class T> class graphblas_result : public prepared {
public:
  explicit graphblas_result(const host_problem<T>& p)
      : p_(p), a_(packed(p.a)), b_(p.b.rowptr().empty() ? nullptr : packed(p.b)) {}
  void run() override {
    c_ = new_matrix(type<T>(), p_.y.shape().row, p_.x.shape().row);
    switch (p_.what) {
    case suite::add: add(b_.get(), nullptr); break;
    case suite::add_t: add(a_.get(), GrB_DESC_T1); break;
    case suite::spgemm:
      require(GrB_mxm(c_.get(), nullptr, nullptr, plus_times<T>(), a_.get(), b_.get(), nullptr),
              "GrB_mxm");
      break;
    default: require(GrB_transpose(c_.get(), nullptr, nullptr, a_.get(), nullptr), "GrB_transpose");
    }
    require(GrB_Matrix_wait(c_.get(), GrB_MATERIALIZE), "GrB_Matrix_wait");
  }
  void fetch() override {
    auto x = new_vector(type<T>(), p_.x.shape().row);
    auto y = new_vector(type<T>(), p_.y.shape().row);
    void* values = copied<T>(p_.x.data(), p_.x.shape().row);
    require(GxB_Vector_pack_Full(x.get(), &values,
                                 static_cast<GrB_Index>(p_.x.shape().row) * sizeof(T), false,
                                 nullptr),
            "GxB_Vector_pack_Full");
    require(GrB_mxv(y.get(), nullptr, nullptr, plus_times<T>(), c_.get(), x.get(), nullptr),
            "GrB_mxv");
    unpack(y.get(), p_.y.data(), p_.y.shape().row, 1);
  }
  void forget() override { c_.reset(); }

private:
  void add(GrB_Matrix b, GrB_Descriptor how) {
    require(GrB_Matrix_eWiseAdd_BinaryOp(c_.get(), nullptr, nullptr,
                                         single<T> ? GrB_PLUS_FP32 : GrB_PLUS_FP64, a_.get(), b,
                                         how),
            "GrB_eWiseAdd");
  }

  host_problem<T> p_;
  matrix a_, b_, c_;
};

} // namespace

template <class T> host_peer<T> graphblas_peer(const peer_settings& settings) {
  join_session(settings.threads);
  const auto prepare = [](const host_problem<T>& p) -> std::unique_ptr<prepared> {
    if (p.what == suite::spmm) return std::make_unique<graphblas_matrix<T>>(p);
    return std::make_unique<graphblas_vector<T>>(p);
  };
  const std::string version = std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
                              std::to_string(GxB_IMPLEMENTATION_MINOR) + "." +
                              std::to_string(GxB_IMPLEMENTATION_SUB);
  const auto prepare_matrix = [](const host_problem<T>& p) {
    return std::make_unique<graphblas_result<T>>(p);
  };
  return {"GraphBLAS",
          version + " (64-bit indices)",
          {{"GraphBLAS", role::peer, all_suites, prepare},
           {"GraphBLAS", role::peer, matrix_suites, prepare_matrix}}};
}

template host_peer<float> graphblas_peer(const peer_settings&);
template host_peer<double> graphblas_peer(const peer_settings&);

} // namespace lacuna::bench
