// librsb: recursive sparse blocks, untuned.
#include <rsb.h>

#include "bench/peers/peers.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::bench {
namespace {

void require(rsb_err_t status, const char* call) {
  if (status == RSB_ERR_NO_ERROR) return;
  char text[200] = {};
  rsb_strerror_r(status, text, sizeof text);
  throw failed(std::string(call) + ": " + text);
}

struct session {
  session() { require(rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init"); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { rsb_lib_exit(RSB_NULL_EXIT_OPTIONS); }
};
/// librsb is initialised once per process, for both precisions; the last caller's threads count.
void join_session(int threads) {
  static const session one;
  const rsb_int_t count = threads;
  require(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &count), "rsb_lib_set_opt");
}

template <class T> class librsb_product : public prepared {
public:
  explicit librsb_product(const host_problem<T>& p) : p_(p) {
    const rsb_type_t type =
        std::is_same_v<T, float> ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE;
    rsb_err_t status = RSB_ERR_NO_ERROR;
    a_.reset(rsb_mtx_alloc_from_csr_const(p.a.values().data(), p.a.rowptr().data(),
                                          p.a.colind().data(), p.a.size(), type, p.a.shape().row,
                                          p.a.shape().col, RSB_DEFAULT_ROW_BLOCKING,
                                          RSB_DEFAULT_COL_BLOCKING, RSB_FLAG_NOFLAGS, &status));
    require(status, "rsb_mtx_alloc_from_csr_const");
    if (a_ == nullptr) throw failed("rsb_mtx_alloc_from_csr_const returned nothing");
  }

  void run() override {
    const T one = 1, zero = 0;
    const rsb_trans_t op = p_.transposed() ? RSB_TRANSPOSITION_T : RSB_TRANSPOSITION_N;
    if (p_.what != suite::spmm) {
      require(rsb_spmv(op, &one, a_.get(), p_.x.data(), 1, &zero, p_.y.data(), 1), "rsb_spmv");
      return;
    }
    const rsb_flags_t order = p_.x.layout() == layout::row_major ? RSB_FLAG_WANT_ROW_MAJOR_ORDER
                                                                 : RSB_FLAG_WANT_COLUMN_MAJOR_ORDER;
    require(rsb_spmm(op, &one, a_.get(), static_cast<rsb_coo_idx_t>(p_.columns()), order,
                     p_.x.data(), static_cast<rsb_nnz_idx_t>(p_.x.ld()), &zero, p_.y.data(),
                     static_cast<rsb_nnz_idx_t>(p_.y.ld())),
            "rsb_spmm");
  }
  [[nodiscard]] std::size_t extra_bytes() const override {
    std::size_t bytes = 0;
    rsb_mtx_get_info(a_.get(), RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &bytes);
    return bytes;
  }

private:
  struct release {
    void operator()(rsb_mtx_t* a) const { rsb_mtx_free(a); }
  };
  host_problem<T> p_;
  std::unique_ptr<rsb_mtx_t, release> a_;
};

} // namespace

template <class T> host_peer<T> librsb_peer(const peer_settings& settings) {
  join_session(settings.threads);
  const auto prepare = [](const host_problem<T>& p) {
    return std::make_unique<librsb_product<T>>(p);
  };
  return {"librsb", RSB_LIBRSB_VER_STRING, {{"librsb", role::peer, all_suites, prepare}}};
}

template host_peer<float> librsb_peer(const peer_settings&);
template host_peer<double> librsb_peer(const peer_settings&);

} // namespace lacuna::bench
