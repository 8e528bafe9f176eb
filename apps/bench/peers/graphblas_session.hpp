// SuiteSparse:GraphBLAS: its session, its matrices and vectors with an owner, and errors as
// exceptions.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
extern "C" { // version 7 does not say so itself; its own C++ includes must come before
#include <GraphBLAS.h>
}
#include <memory>
#include <string>

#include <lacuna/core/error.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::bench::graphblas {

inline void require(GrB_Info status, const char* call) {
  if (status != GrB_SUCCESS && status != GrB_NO_VALUE)
    throw failed(std::string(call) + " returned GrB_Info " + std::to_string(status));
}

struct session {
  session() { require(GrB_init(GrB_NONBLOCKING), "GrB_init"); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { GrB_finalize(); }
};
/// GraphBLAS is initialised once per process, for both precisions; the last caller's threads count.
inline void join_session(int threads) {
  static const session one;
  require(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads), "GxB_Global_Option_set");
}

struct release {
  void operator()(GrB_Matrix a) const { GrB_Matrix_free(&a); }
  void operator()(GrB_Vector v) const { GrB_Vector_free(&v); }
};
using matrix = std::unique_ptr<std::remove_pointer_t<GrB_Matrix>, release>;
using vector = std::unique_ptr<std::remove_pointer_t<GrB_Vector>, release>;

template <class T> constexpr bool single = std::is_same_v<T, float>;
template <class T> GrB_Type type() { return single<T> ? GrB_FP32 : GrB_FP64; }
template <class T> GrB_Semiring plus_times() {
  return single<T> ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64;
}

inline matrix new_matrix(GrB_Type t, std::int64_t rows, std::int64_t cols) {
  GrB_Matrix a = nullptr;
  require(GrB_Matrix_new(&a, t, static_cast<GrB_Index>(rows), static_cast<GrB_Index>(cols)),
          "GrB_Matrix_new");
  return matrix(a);
}
inline vector new_vector(GrB_Type t, std::int64_t size) {
  GrB_Vector v = nullptr;
  require(GrB_Vector_new(&v, t, static_cast<GrB_Index>(size)), "GrB_Vector_new");
  return vector(v);
}

/// A copy in memory that GraphBLAS can take over.
template <class To, class From> To* copied(const From* from, std::int64_t size) {
  auto* p = static_cast<To*>(std::malloc(static_cast<std::size_t>(size) * sizeof(To) + 1));
  if (p == nullptr) throw std::bad_alloc();
  std::copy_n(from, size, p);
  return p;
}

template <class T> matrix packed(csr_view<const T, index_t, offset_t> a) {
  auto result = new_matrix(type<T>(), a.shape().row, a.shape().col);
  auto* p = copied<GrB_Index>(a.rowptr().data(), a.rowptr().size());
  auto* j = copied<GrB_Index>(a.colind().data(), a.size());
  void* x = copied<T>(a.values().data(), a.size());
  const auto nnz = static_cast<GrB_Index>(a.size());
  require(GxB_Matrix_pack_CSR(result.get(), &p, &j, &x,
                              static_cast<GrB_Index>(a.rowptr().size()) * sizeof(GrB_Index),
                              nnz * sizeof(GrB_Index), nnz * sizeof(T), false, !a.order().sorted,
                              nullptr),
          "GxB_Matrix_pack_CSR");
  return result;
}

} // namespace lacuna::bench::graphblas
