// cuSPARSE where the result is a matrix: csrgeam2, csr2csc and SpGEMM with all its steps. Every run
// allocates buffers and C and lets go of them: from Lacuna's pool, and by cudaMalloc as its samples
// do.
#include <cuda_runtime_api.h>

#include "bench/cuda_call.hpp"
#include "bench/peers/cusparse_session.hpp"
#include <lacuna/op/multiply.hpp>

namespace lacuna::bench {
namespace {

enum class memory_of { pool, cuda_malloc };

/// Device memory for a peer; never a null pointer, since not all versions take one for 0 bytes.
template <class X> class peer_array {
public:
  peer_array() = default;
  peer_array(const device_context& ctx, std::int64_t n, memory_of from) : size_(n) {
    n = std::max<std::int64_t>(n, 16);
    if (from == memory_of::pool)
      pooled_ = array<X, space::device>(ctx, n);
    else
      require(cudaMalloc(&own_, static_cast<std::size_t>(n) * sizeof(X)), "cudaMalloc");
  }
  peer_array(peer_array&& other) noexcept
      : pooled_(std::move(other.pooled_)), own_(std::exchange(other.own_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  peer_array& operator=(peer_array&& other) noexcept {
    std::swap(pooled_, other.pooled_);
    std::swap(own_, other.own_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~peer_array() { cudaFree(own_); } // nothing if it is null
  [[nodiscard]] X* data() { return own_ != nullptr ? static_cast<X*>(own_) : pooled_.data(); }
  [[nodiscard]] std::int64_t size() const { return size_; }

private:
  array<X, space::device> pooled_;
  void* own_ = nullptr;
  std::int64_t size_ = 0;
};

/// What a peer made.
template <class T> struct peer_matrix {
  index<index_t> shape{};
  peer_array<offset_t> rowptr;
  peer_array<index_t> colind;
  peer_array<T> values;

  [[nodiscard]] csr_view<const T, index_t, offset_t, space::device> view() {
    return {values.data(), rowptr.data(), colind.data(), shape,
            static_cast<offset_t>(values.size())};
  }
};

/// y = C x, by Lacuna.
template <class T>
void multiply_result(const session& s, peer_matrix<T>& c, const device_problem<T>& p) {
  multiply(s.context, c.view(), vector_view<const T, space::device>(p.x.data(), p.x.shape().row),
           vector_view<T, space::device>(p.y.data(), p.y.shape().row));
  s.context.synchronize();
}

/// C = A + B by csrgeam2, C = A^T by csr2csc, C = A + A^T by both: sizes, buffer and C's memory
/// anew each time.
template <class T> class cusparse_result : public prepared {
public:
  cusparse_result(shared_session s, const device_problem<T>& p, memory_of memory)
      : s_(std::move(s)), p_(p), memory_(memory) {
    s_->api.require(s_->api.create_description(&plain_), "cusparseCreateMatDescr");
  }
  cusparse_result(const cusparse_result&) = delete;
  cusparse_result& operator=(const cusparse_result&) = delete;
  ~cusparse_result() override { s_->api.destroy_description(plain_); }
  void run() override {
    switch (p_.what) {
    case suite::add: c_ = add(p_.a, p_.b); break;
    case suite::add_t: {
      matrix a_transposed = transpose(p_.a);
      c_ = add(p_.a, a_transposed.view());
      break;
    }
    default: c_ = transpose(p_.a);
    }
  }
  void fetch() override { multiply_result(*s_, c_, p_); }

  void forget() override { c_ = {}; }

private:
  using matrix = peer_matrix<T>;
  using view = csr_view<const T, index_t, offset_t, space::device>;
  [[nodiscard]] matrix add(view a, view b) const {
    const auto& api = s_->api;
    const T one = 1;
    const int m = a.shape().row, n = a.shape().col;
    peer_array<offset_t> rowptr(s_->context, std::int64_t{m} + 1, memory_);
    std::size_t bytes = 0;
    api.require(api.template add_buffer<T>()(
                    s_->handle, m, n, &one, plain_, a.size(), a.values().data(), a.rowptr().data(),
                    a.colind().data(), &one, plain_, b.size(), b.values().data(), b.rowptr().data(),
                    b.colind().data(), plain_, nullptr, rowptr.data(), nullptr, &bytes),
                "cusparseXcsrgeam2_bufferSizeExt");
    peer_array<char> buffer(s_->context, static_cast<std::int64_t>(bytes), memory_);
    int entries = 0;
    api.require(api.add_count(s_->handle, m, n, plain_, a.size(), a.rowptr().data(),
                              a.colind().data(), plain_, b.size(), b.rowptr().data(),
                              b.colind().data(), plain_, rowptr.data(), &entries, buffer.data()),
                "cusparseXcsrgeam2Nnz");
    peer_array<index_t> colind(s_->context, entries, memory_);
    peer_array<T> values(s_->context, entries, memory_);
    api.require(api.template add<T>()(s_->handle, m, n, &one, plain_, a.size(), a.values().data(),
                                      a.rowptr().data(), a.colind().data(), &one, plain_, b.size(),
                                      b.values().data(), b.rowptr().data(), b.colind().data(),
                                      plain_, values.data(), rowptr.data(), colind.data(),
                                      buffer.data()),
                "cusparseXcsrgeam2");
    return {a.shape(), std::move(rowptr), std::move(colind), std::move(values)};
  }
  [[nodiscard]] matrix transpose(view a) const {
    const auto& api = s_->api;
    const int m = a.shape().row, n = a.shape().col;
    matrix c{{n, m},
             {s_->context, std::int64_t{n} + 1, memory_},
             {s_->context, a.size(), memory_},
             {s_->context, a.size(), memory_}};
    std::size_t bytes = 0;
    api.require(api.transpose_buffer(s_->handle, m, n, a.size(), a.values().data(),
                                     a.rowptr().data(), a.colind().data(), c.values.data(),
                                     c.rowptr.data(), c.colind.data(), value_type<T>,
                                     CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                     CUSPARSE_CSR2CSC_ALG1, &bytes),
                "cusparseCsr2cscEx2_bufferSize");
    peer_array<char> buffer(s_->context, static_cast<std::int64_t>(bytes), memory_);
    api.require(api.transpose(s_->handle, m, n, a.size(), a.values().data(), a.rowptr().data(),
                              a.colind().data(), c.values.data(), c.rowptr.data(), c.colind.data(),
                              value_type<T>, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                              CUSPARSE_CSR2CSC_ALG1, buffer.data()),
                "cusparseCsr2cscEx2");
    return c;
  }

  shared_session s_;
  device_problem<T> p_;
  memory_of memory_;
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
  cusparse_product(shared_session s, const device_problem<T>& p, cusparseSpGEMMAlg_t algorithm,
                   memory_of memory)
      : s_(std::move(s)), p_(p), algorithm_(algorithm), memory_(memory), a_(s_->api, p.a),
        b_(s_->api, p.b) {
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
  static constexpr cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  [[nodiscard]] bool estimates() const { return algorithm_ != CUSPARSE_SPGEMM_DEFAULT; }

  void multiply_all() {
    const auto& api = s_->api;
    const auto& ctx = s_->context;
    const spgemm_description d(api);
    const auto buffer_of = [&](std::size_t bytes) {
      return peer_array<char>(ctx, static_cast<std::int64_t>(bytes), memory_);
    };
    peer_array<offset_t> rowptr(ctx, std::int64_t{p_.a.shape().row} + 1, memory_);
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
    auto work = buffer_of(bytes);
    step(api.spgemm_work, "cusparseSpGEMM_workEstimation", &bytes, work.data());
    std::size_t compute_bytes = 0;
    if (estimates()) {
      constexpr float chunk = 0.2F; // of the products that algorithm 3 has in memory at once
      step(api.spgemm_memory, "cusparseSpGEMM_estimateMemory", chunk, &bytes, nullptr, nullptr);
      auto estimation = buffer_of(bytes);
      step(api.spgemm_memory, "cusparseSpGEMM_estimateMemory", chunk, &bytes, estimation.data(),
           &compute_bytes);
    } else {
      step(api.spgemm_compute, "cusparseSpGEMM_compute", &compute_bytes, nullptr);
    }
    auto computing = buffer_of(compute_bytes);
    step(api.spgemm_compute, "cusparseSpGEMM_compute", &compute_bytes, computing.data());
    std::int64_t rows = 0, cols = 0, entries = 0;
    api.require(api.matrix_size(c.get(), &rows, &cols, &entries), "cusparseSpMatGetSize");
    peer_array<index_t> colind(ctx, entries, memory_);
    peer_array<T> values(ctx, entries, memory_);
    api.require(api.set_csr(c.get(), rowptr.data(), colind.data(), values.data()),
                "cusparseCsrSetPointers");
    step(api.spgemm_copy, "cusparseSpGEMM_copy");
    // Buffers go back in the stream's order, after the copy.
    c_ = {{p_.a.shape().row, p_.b.shape().col},
          std::move(rowptr),
          std::move(colind),
          std::move(values)};
  }

  shared_session s_;
  device_problem<T> p_;
  cusparseSpGEMMAlg_t algorithm_;
  memory_of memory_;
  matrix_description<T> a_, b_;
  peer_matrix<T> c_;
  T one_ = 1, zero_ = 0;
};

} // namespace

template <class T>
std::vector<contestant<T, space::device>> cusparse_results(const shared_session& s) {
  std::vector<contestant<T, space::device>> all;
  for (const memory_of memory : {memory_of::pool, memory_of::cuda_malloc}) {
    const bool pooled = memory == memory_of::pool;
    const role plays = pooled ? role::peer : role::peer_too;
    const std::string suffix = pooled ? "" : ", cudaMalloc";
    all.push_back({"cuSPARSE" + suffix,
                   plays,
                   {suite::add, suite::add_t, suite::transpose},
                   [s, memory](const device_problem<T>& p) {
                     return std::make_unique<cusparse_result<T>>(s, p, memory);
                   }});
    const std::pair<const char*, cusparseSpGEMMAlg_t> products[] = {
        {"cuSPARSE alg 1", CUSPARSE_SPGEMM_DEFAULT},
        {"cuSPARSE alg 2", CUSPARSE_SPGEMM_ALG2},
        {"cuSPARSE alg 3", CUSPARSE_SPGEMM_ALG3}};
    for (const auto& [name, algorithm] : products)
      all.push_back({name + suffix,
                     plays,
                     {suite::spgemm},
                     [s, algorithm = algorithm, memory](const device_problem<T>& p) {
                       return std::make_unique<cusparse_product<T>>(s, p, algorithm, memory);
                     }});
  }
  return all;
}

template std::vector<contestant<float, space::device>> cusparse_results(const shared_session&);
template std::vector<contestant<double, space::device>> cusparse_results(const shared_session&);

} // namespace lacuna::bench
