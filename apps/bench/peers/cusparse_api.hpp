// The part of cuSPARSE that is used, loaded at run time: the program starts on machines without it.
#pragma once

#include <cstdlib>
#include <cusparse.h>

#include "bench/peers/shared_library.hpp"

namespace lacuna::bench {

/// $LACUNA_CUSPARSE first: the file, or folders separated by ':', each the library's own or a
/// Python site-packages with NVIDIA's wheels. Then the loader's path and the toolkit's folders.
inline std::vector<std::string> cusparse_places() {
  std::vector<std::string> result;
  const auto add_folder = [&](const std::string& folder) {
    if (folder.empty()) return;
    result.push_back(folder + "/libcusparse.so.12");
    result.push_back(folder + "/libcusparse.so");
  };
  if (const char* env = std::getenv("LACUNA_CUSPARSE")) {
    const std::string given = env;
    if (given.find(".so") != std::string::npos)
      result.push_back(given);
    else
      for (std::size_t at = 0; at <= given.size();) {
        const std::size_t end = std::min(given.find(':', at), given.size());
        const std::string folder = given.substr(at, end - at);
        add_folder(folder);
        for (const char* wheel : {"/nvidia/cu13/lib", "/nvidia/cusparse/lib"})
          if (!folder.empty()) add_folder(folder + wheel);
        at = end + 1;
      }
  }
  result.emplace_back("libcusparse.so.12");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name)) add_folder(root + std::string("/lib64"));
  add_folder("/usr/local/cuda/lib64");
  return result;
}

struct cusparse_api {
  explicit cusparse_api(const shared_library& lib)
      : create(lib.symbol<decltype(cusparseCreate)>("cusparseCreate")),
        destroy(lib.symbol<decltype(cusparseDestroy)>("cusparseDestroy")),
        set_stream(lib.symbol<decltype(cusparseSetStream)>("cusparseSetStream")),
        get_version(lib.symbol<decltype(cusparseGetVersion)>("cusparseGetVersion")),
        error_string(lib.symbol<decltype(cusparseGetErrorString)>("cusparseGetErrorString")),
        create_csr(lib.symbol<decltype(cusparseCreateCsr)>("cusparseCreateCsr")),
        destroy_matrix(lib.symbol<decltype(cusparseDestroySpMat)>("cusparseDestroySpMat")),
        create_vector(lib.symbol<decltype(cusparseCreateDnVec)>("cusparseCreateDnVec")),
        destroy_vector(lib.symbol<decltype(cusparseDestroyDnVec)>("cusparseDestroyDnVec")),
        create_dense(lib.symbol<decltype(cusparseCreateDnMat)>("cusparseCreateDnMat")),
        destroy_dense(lib.symbol<decltype(cusparseDestroyDnMat)>("cusparseDestroyDnMat")),
        spmv_buffer(lib.symbol<decltype(cusparseSpMV_bufferSize)>("cusparseSpMV_bufferSize")),
        spmv(lib.symbol<decltype(cusparseSpMV)>("cusparseSpMV")),
        // Has spmv's signature; older libraries and headers do not have it.
        spmv_preprocess(lib.find<decltype(cusparseSpMV)>("cusparseSpMV_preprocess")),
        spmm_buffer(lib.symbol<decltype(cusparseSpMM_bufferSize)>("cusparseSpMM_bufferSize")),
        spmm_preprocess(lib.symbol<decltype(cusparseSpMM)>("cusparseSpMM_preprocess")),
        spmm(lib.symbol<decltype(cusparseSpMM)>("cusparseSpMM")),
        matrix_size(lib.symbol<decltype(cusparseSpMatGetSize)>("cusparseSpMatGetSize")),
        set_csr(lib.symbol<decltype(cusparseCsrSetPointers)>("cusparseCsrSetPointers")),
        spgemm_create(
            lib.symbol<decltype(cusparseSpGEMM_createDescr)>("cusparseSpGEMM_createDescr")),
        spgemm_destroy(
            lib.symbol<decltype(cusparseSpGEMM_destroyDescr)>("cusparseSpGEMM_destroyDescr")),
        spgemm_work(
            lib.symbol<decltype(cusparseSpGEMM_workEstimation)>("cusparseSpGEMM_workEstimation")),
        // Null in libraries before 12.1.
        spgemm_memory(
            lib.find<decltype(cusparseSpGEMM_estimateMemory)>("cusparseSpGEMM_estimateMemory")),
        spgemm_compute(lib.symbol<decltype(cusparseSpGEMM_compute)>("cusparseSpGEMM_compute")),
        spgemm_copy(lib.symbol<decltype(cusparseSpGEMM_copy)>("cusparseSpGEMM_copy")),
        create_description(lib.symbol<decltype(cusparseCreateMatDescr)>("cusparseCreateMatDescr")),
        destroy_description(
            lib.symbol<decltype(cusparseDestroyMatDescr)>("cusparseDestroyMatDescr")),
        add_count(lib.symbol<decltype(cusparseXcsrgeam2Nnz)>("cusparseXcsrgeam2Nnz")),
        add_buffer_f32(lib.symbol<decltype(cusparseScsrgeam2_bufferSizeExt)>(
            "cusparseScsrgeam2_bufferSizeExt")),
        add_buffer_f64(lib.symbol<decltype(cusparseDcsrgeam2_bufferSizeExt)>(
            "cusparseDcsrgeam2_bufferSizeExt")),
        add_f32(lib.symbol<decltype(cusparseScsrgeam2)>("cusparseScsrgeam2")),
        add_f64(lib.symbol<decltype(cusparseDcsrgeam2)>("cusparseDcsrgeam2")),
        transpose_buffer(
            lib.symbol<decltype(cusparseCsr2cscEx2_bufferSize)>("cusparseCsr2cscEx2_bufferSize")),
        transpose(lib.symbol<decltype(cusparseCsr2cscEx2)>("cusparseCsr2cscEx2")),
        set_attribute(lib.symbol<decltype(cusparseSpMatSetAttribute)>("cusparseSpMatSetAttribute")),
        spsv_create(lib.symbol<decltype(cusparseSpSV_createDescr)>("cusparseSpSV_createDescr")),
        spsv_destroy(lib.symbol<decltype(cusparseSpSV_destroyDescr)>("cusparseSpSV_destroyDescr")),
        spsv_buffer(lib.symbol<decltype(cusparseSpSV_bufferSize)>("cusparseSpSV_bufferSize")),
        spsv_analysis(lib.symbol<decltype(cusparseSpSV_analysis)>("cusparseSpSV_analysis")),
        spsv(lib.symbol<decltype(cusparseSpSV_solve)>("cusparseSpSV_solve")) {}

  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseGetVersion) get_version;
  decltype(&cusparseGetErrorString) error_string;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseDestroySpMat) destroy_matrix;
  decltype(&cusparseCreateDnVec) create_vector;
  decltype(&cusparseDestroyDnVec) destroy_vector;
  decltype(&cusparseCreateDnMat) create_dense;
  decltype(&cusparseDestroyDnMat) destroy_dense;
  decltype(&cusparseSpMV_bufferSize) spmv_buffer;
  decltype(&cusparseSpMV) spmv;
  decltype(&cusparseSpMV) spmv_preprocess;
  decltype(&cusparseSpMM_bufferSize) spmm_buffer;
  decltype(&cusparseSpMM) spmm_preprocess;
  decltype(&cusparseSpMM) spmm;
  decltype(&cusparseSpMatGetSize) matrix_size;
  decltype(&cusparseCsrSetPointers) set_csr;
  decltype(&cusparseSpGEMM_createDescr) spgemm_create;
  decltype(&cusparseSpGEMM_destroyDescr) spgemm_destroy;
  decltype(&cusparseSpGEMM_workEstimation) spgemm_work;
  decltype(&cusparseSpGEMM_estimateMemory) spgemm_memory;
  decltype(&cusparseSpGEMM_compute) spgemm_compute;
  decltype(&cusparseSpGEMM_copy) spgemm_copy;
  decltype(&cusparseCreateMatDescr) create_description;
  decltype(&cusparseDestroyMatDescr) destroy_description;
  decltype(&cusparseXcsrgeam2Nnz) add_count;
  decltype(&cusparseScsrgeam2_bufferSizeExt) add_buffer_f32;
  decltype(&cusparseDcsrgeam2_bufferSizeExt) add_buffer_f64;
  decltype(&cusparseScsrgeam2) add_f32;
  decltype(&cusparseDcsrgeam2) add_f64;
  decltype(&cusparseCsr2cscEx2_bufferSize) transpose_buffer;
  decltype(&cusparseCsr2cscEx2) transpose;
  decltype(&cusparseSpMatSetAttribute) set_attribute;
  decltype(&cusparseSpSV_createDescr) spsv_create;
  decltype(&cusparseSpSV_destroyDescr) spsv_destroy;
  decltype(&cusparseSpSV_bufferSize) spsv_buffer;
  decltype(&cusparseSpSV_analysis) spsv_analysis;
  decltype(&cusparseSpSV_solve) spsv;
  template <class T> auto add_buffer() const {
    if constexpr (std::is_same_v<T, float>)
      return add_buffer_f32;
    else
      return add_buffer_f64;
  }
  template <class T> auto add() const {
    if constexpr (std::is_same_v<T, float>)
      return add_f32;
    else
      return add_f64;
  }

  void require(cusparseStatus_t status, const char* call) const {
    if (status == CUSPARSE_STATUS_SUCCESS) return;
    const std::string message = std::string(call) + ": " + error_string(status);
    if (status == CUSPARSE_STATUS_NOT_SUPPORTED) throw unsupported(message);
    throw device_error(message);
  }
};

} // namespace lacuna::bench
