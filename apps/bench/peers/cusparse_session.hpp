// What cuSPARSE's contestants have in common: the library's handle on a stream, descriptions of
// matrices, buffers.
#pragma once

#include <algorithm>
#include <memory>

#include "bench/contestant.hpp"
#include "bench/peers/cusparse_api.hpp"

namespace lacuna::bench {

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

/// Never a null pointer: not all versions take one, even for 0 bytes.
inline array<char, space::device> new_buffer(const device_context& ctx, std::size_t bytes) {
  return {ctx, std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 16)};
}

/// Those whose result is a matrix.
template <class T>
std::vector<contestant<T, space::device>> cusparse_results(const shared_session& s);

} // namespace lacuna::bench
