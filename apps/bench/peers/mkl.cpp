// Intel MKL's inspector-executor Sparse BLAS, loaded at run time from libmkl_rt; no headers needed.
#include <cstdlib>
#include <filesystem>

#include "bench/peers/peers.hpp"
#include "bench/peers/shared_library.hpp"

namespace lacuna::bench {
namespace {

// From mkl_spblas.h and mkl_service.h, LP64 interface.
using handle = struct mkl_matrix*;
struct description {
  int type = 20; // SPARSE_MATRIX_TYPE_GENERAL
  int mode = 40; // SPARSE_FILL_MODE_LOWER, not looked at
  int diag = 50; // SPARSE_DIAG_NON_UNIT, not looked at
};
constexpr int success = 0, base_zero = 0, plain = 10, across = 11, row_major = 101,
              column_major = 102;
constexpr int interface_lp64 = 0, threading_sequential = 1, threading_gnu = 3;

template <class T> using create_csr_t = int(handle*, int, int, int, int*, int*, int*, T*);
template <class T> using mv_t = int(int, T, handle, description, const T*, T, T*);
template <class T> using sum_t = int(int, handle, T, handle, handle*);
template <class T>
using mm_t = int(int, T, handle, description, int, const T*, int, int, T, T*, int);

void require(int status, const char* call) {
  if (status != success)
    throw failed(std::string(call) + " returned status " + std::to_string(status));
}

template <class T> struct mkl {
  explicit mkl(const shared_library& lib)
      : create_csr(
            pick<create_csr_t<T>>(lib, "mkl_sparse_s_create_csr", "mkl_sparse_d_create_csr")),
        mv(pick<mv_t<T>>(lib, "mkl_sparse_s_mv", "mkl_sparse_d_mv")),
        mm(pick<mm_t<T>>(lib, "mkl_sparse_s_mm", "mkl_sparse_d_mm")),
        add(pick<sum_t<T>>(lib, "mkl_sparse_s_add", "mkl_sparse_d_add")),
        spmm(lib.symbol<int(int, handle, handle, handle*)>("mkl_sparse_spmm")),
        order(lib.symbol<int(handle)>("mkl_sparse_order")),
        convert(lib.symbol<int(handle, int, handle*)>("mkl_sparse_convert_csr")),
        mv_hint(lib.symbol<int(handle, int, description, int)>("mkl_sparse_set_mv_hint")),
        mm_hint(lib.symbol<int(handle, int, description, int, int, int)>("mkl_sparse_set_mm_hint")),
        optimize(lib.symbol<int(handle)>("mkl_sparse_optimize")),
        destroy(lib.symbol<int(handle)>("mkl_sparse_destroy")) {}

  template <class F> static F* pick(const shared_library& lib, const char* s, const char* d) {
    return lib.symbol<F>(std::is_same_v<T, float> ? s : d);
  }

  create_csr_t<T>* create_csr;
  mv_t<T>* mv;
  mm_t<T>* mm;
  sum_t<T>* add;
  int (*spmm)(int, handle, handle, handle*);
  int (*order)(handle);
  int (*convert)(handle, int, handle*);
  int (*mv_hint)(handle, int, description, int);
  int (*mm_hint)(handle, int, description, int, int, int);
  int (*optimize)(handle);
  int (*destroy)(handle);
};

template <class T> class mkl_product : public prepared {
public:
  mkl_product(const mkl<T>& api, const host_problem<T>& p) : api_(api), p_(p) {
    // MKL takes pointers without const and does not write through them.
    const auto open = [](auto* q) {
      return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(q)>>*>(q);
    };
    int* rowptr = open(p.a.rowptr().data());
    require(api.create_csr(&a_, base_zero, p.a.shape().row, p.a.shape().col, rowptr, rowptr + 1,
                           open(p.a.colind().data()), open(p.a.values().data())),
            "mkl_sparse_create_csr");
    try {
      hint_and_optimize();
    } catch (...) {
      api.destroy(a_);
      throw;
    }
  }
  mkl_product(const mkl_product&) = delete;
  mkl_product& operator=(const mkl_product&) = delete;
  ~mkl_product() override { api_.destroy(a_); }

  void run() override {
    const int op = p_.transposed() ? across : plain;
    if (p_.what != suite::spmm)
      require(api_.mv(op, T{1}, a_, {}, p_.x.data(), T{0}, p_.y.data()), "mkl_sparse_mv");
    else
      require(api_.mm(op, T{1}, a_, {}, order(), p_.x.data(), static_cast<int>(p_.columns()),
                      static_cast<int>(p_.x.ld()), T{0}, p_.y.data(), static_cast<int>(p_.y.ld())),
              "mkl_sparse_mm");
  }

private:
  static constexpr int expected_calls = 1000;
  [[nodiscard]] int order() const {
    return p_.x.layout() == layout::row_major ? row_major : column_major;
  }
  /// A hint MKL has no use for is answered with a status that is not an error to us.
  void hint_and_optimize() {
    if (p_.what == suite::spmm)
      (void)api_.mm_hint(a_, plain, {}, order(), static_cast<int>(p_.columns()), expected_calls);
    else
      (void)api_.mv_hint(a_, p_.transposed() ? across : plain, {}, expected_calls);
    require(api_.optimize(a_), "mkl_sparse_optimize");
  }

  mkl<T> api_;
  host_problem<T> p_;
  handle a_ = nullptr;
};

/// C = A + B, A + A^T, A^T or A B, in memory that MKL allocates each time. Products are put in
/// order, as ours are.
template <class T> class mkl_result : public prepared {
public:
  mkl_result(const mkl<T>& api, const host_problem<T>& p)
      : api_(api), p_(p), a_(api, p.a), b_(api, p.b.rowptr().empty() ? p.a : p.b) {}
  mkl_result(const mkl_result&) = delete;
  mkl_result& operator=(const mkl_result&) = delete;
  ~mkl_result() override { mkl_result::forget(); }
  void run() override {
    switch (p_.what) {
    case suite::add:
    case suite::add_t:
      require(api_.add(p_.what == suite::add ? plain : across, a_.get(), T{1}, b_.get(), &c_),
              "mkl_sparse_add");
      break;
    case suite::spgemm:
      require(api_.spmm(plain, a_.get(), b_.get(), &c_), "mkl_sparse_spmm");
      require(api_.order(c_), "mkl_sparse_order");
      break;
    default: require(api_.convert(a_.get(), across, &c_), "mkl_sparse_convert_csr");
    }
  }
  void fetch() override {
    require(api_.mv(plain, T{1}, c_, {}, p_.x.data(), T{0}, p_.y.data()), "mkl_sparse_mv");
  }
  void forget() override {
    if (c_ != nullptr) api_.destroy(c_);
    c_ = nullptr;
  }

private:
  /// A handle to arrays that stay the problem's.
  class operand {
  public:
    operand(const mkl<T>& api, csr_view<const T, index_t, offset_t> a) : destroy_(api.destroy) {
      auto* const rowptr = const_cast<int*>(a.rowptr().data());
      require(api.create_csr(&a_, base_zero, a.shape().row, a.shape().col, rowptr, rowptr + 1,
                             const_cast<int*>(a.colind().data()),
                             const_cast<T*>(a.values().data())),
              "mkl_sparse_create_csr");
    }
    operand(const operand&) = delete;
    operand& operator=(const operand&) = delete;
    ~operand() { destroy_(a_); }
    [[nodiscard]] handle get() const { return a_; }

  private:
    int (*destroy_)(handle);
    handle a_ = nullptr;
  };
  mkl<T> api_;
  host_problem<T> p_;
  operand a_, b_;
  handle c_ = nullptr;
};

/// --mkl or $LACUNA_MKL alone if given; else the loader's path, $MKLROOT, and the lib folders of
/// the Python environments in use, where pip puts it.
std::vector<std::string> places(std::string given) {
  namespace fs = std::filesystem;
  if (const char* env = std::getenv("LACUNA_MKL"); given.empty() && env != nullptr) given = env;
  std::vector<std::string> folders;
  std::vector<std::string> result;
  if (!given.empty()) {
    if (!fs::is_directory(given)) return {given};
    folders = {given, given + "/lib"};
  } else {
    result = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"};
    if (const char* root = std::getenv("MKLROOT"))
      folders = {root + std::string("/lib"), root + std::string("/lib/intel64")};
    for (const char* env : {"VIRTUAL_ENV", "CONDA_PREFIX"})
      if (const char* root = std::getenv(env)) folders.push_back(root + std::string("/lib"));
    if (const char* home = std::getenv("HOME"))
      folders.push_back(home + std::string("/.local/lib"));
    folders.insert(folders.end(), {"/usr/local/lib", "/opt/intel/oneapi/mkl/latest/lib"});
  }
  for (const auto& folder : folders)
    for (const char* name : {"/libmkl_rt.so.3", "/libmkl_rt.so.2", "/libmkl_rt.so"})
      result.push_back(folder + name);
  return result;
}

struct loaded {
  shared_library library;
  std::string about;
};

/// "2026.2" of "Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build …".
std::string version_of(const shared_library& lib) {
  char text[200] = {};
  lib.symbol<void(char*, int)>("MKL_Get_Version_String")(text, sizeof text - 1);
  const std::string all = text, before = "Version ";
  const std::size_t at = all.find(before);
  if (at == std::string::npos) return all;
  return all.substr(at + before.size(),
                    all.find_first_of("- ", at + before.size()) - at - before.size());
}

loaded load(const peer_settings& settings) {
  // MKL's GNU threading layer takes its OpenMP from the process: that of a program built by g++,
  // else this one.
  const bool has_openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  const auto lib = shared_library::first_of(places(settings.mkl), RTLD_GLOBAL);
  if (!lib)
    return {lib,
            "not loaded (pip install mkl; --mkl PATH or LACUNA_MKL says where)" + lib.trouble()};
  // A missing layer ends the process inside MKL, so look before asking for it.
  const std::filesystem::path file = lib.path();
  const std::string suffix = file.filename().string().substr(std::string("libmkl_rt").size());
  const bool threaded =
      has_openmp && std::filesystem::exists(file.parent_path() / ("libmkl_gnu_thread" + suffix));
  lib.symbol<int(int)>("MKL_Set_Interface_Layer")(interface_lp64);
  lib.symbol<int(int)>("MKL_Set_Threading_Layer")(threaded ? threading_gnu : threading_sequential);
  return {lib, version_of(lib) + ", " + lib.path() +
                   (threaded ? "" : ", ON ONE THREAD (libmkl_gnu_thread or libgomp is missing)")};
}

/// One process, one MKL, for both precisions; the last caller's threads count.
const loaded& library(const peer_settings& settings) {
  static const loaded mkl_library = load(settings);
  if (mkl_library.library)
    mkl_library.library.symbol<void(int)>("MKL_Set_Num_Threads")(settings.threads);
  return mkl_library;
}

} // namespace

template <class T> host_peer<T> mkl_peer(const peer_settings& settings) {
  const loaded& mkl_library = library(settings);
  if (!mkl_library.library) return {"MKL", mkl_library.about, {}};
  const auto prepare = [api = mkl<T>(mkl_library.library)](const host_problem<T>& p) {
    return std::make_unique<mkl_product<T>>(api, p);
  };
  const auto prepare_matrix = [api = mkl<T>(mkl_library.library)](const host_problem<T>& p) {
    return std::make_unique<mkl_result<T>>(api, p);
  };
  return {"MKL",
          mkl_library.about,
          {{"MKL", role::peer, all_suites, prepare},
           {"MKL", role::peer, matrix_suites, prepare_matrix}}};
}

template host_peer<float> mkl_peer(const peer_settings&);
template host_peer<double> mkl_peer(const peer_settings&);

} // namespace lacuna::bench
