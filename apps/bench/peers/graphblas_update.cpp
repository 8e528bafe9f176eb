// SuiteSparse:GraphBLAS as a matrix that changes: setElement for each entry, which replaces, and
// one wait; or the batch built as a matrix of its own that is added.
#include "bench/peers/graphblas_session.hpp"

#include "bench/update/contestant.hpp"
#include <lacuna/op/convert.hpp>

namespace lacuna::bench {
namespace {

using namespace graphblas;

template <class T> GrB_BinaryOp plus() { return single<T> ? GrB_PLUS_FP32 : GrB_PLUS_FP64; }

template <class T> class graphblas_updated : public updated_matrix<T, space::host> {
public:
  using batch_view = typename updated_matrix<T, space::host>::batch_view;
  graphblas_updated(csr_view<const T> a, bool by_element)
      : shape_(a.shape()), a_(packed<T>(a)), by_element_(by_element) {}
  void insert(batch_view batch) override {
    if (by_element_)
      set(batch);
    else
      add(batch);
    wait();
  }
  void erase(batch_view batch) override {
    for (std::int64_t k = 0; k < batch.size(); ++k)
      require(
          GrB_Matrix_removeElement(a_.get(), place(batch.rowind()[k]), place(batch.colind()[k])),
          "GrB_Matrix_removeElement");
    wait();
  }
  /// The result stays in GraphBLAS's memory.
  void multiply(vector_view<const T> x, vector_view<T>) override {
    if (!x_) {
      x_ = new_vector(type<T>(), x.size());
      y_ = new_vector(type<T>(), shape_.row);
      void* values = copied<T>(x.data(), x.size());
      require(GxB_Vector_pack_Full(x_.get(), &values, static_cast<GrB_Index>(x.size()) * sizeof(T),
                                   false, nullptr),
              "GxB_Vector_pack_Full");
    }
    require(GrB_mxv(y_.get(), nullptr, nullptr, plus_times<T>(), a_.get(), x_.get(), nullptr),
            "GrB_mxv");
    require(GrB_Vector_wait(y_.get(), GrB_MATERIALIZE), "GrB_Vector_wait");
  }
  csr<T> fetch() override {
    GrB_Index count = 0;
    require(GrB_Matrix_nvals(&count, a_.get()), "GrB_Matrix_nvals");
    std::vector<GrB_Index> rows(count), columns(count);
    const host_context ctx;
    coo<T> entries(ctx, shape_, static_cast<offset_t>(count));
    if constexpr (single<T>)
      require(GrB_Matrix_extractTuples_FP32(rows.data(), columns.data(), entries.values().data(),
                                            &count, a_.get()),
              "extractTuples");
    else
      require(GrB_Matrix_extractTuples_FP64(rows.data(), columns.data(), entries.values().data(),
                                            &count, a_.get()),
              "extractTuples");
    const auto narrow = [](GrB_Index i) { return static_cast<index_t>(i); };
    std::ranges::transform(rows, entries.rowind().begin(), narrow);
    std::ranges::transform(columns, entries.colind().begin(), narrow);
    csr<T> result = to_csr(ctx, entries);
    sort(ctx, result);
    return result;
  }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t size = 0;
    require(GxB_Matrix_memoryUsage(&size, a_.get()), "GxB_Matrix_memoryUsage");
    return size;
  }

private:
  static GrB_Index place(index_t i) { return static_cast<GrB_Index>(i); }
  void wait() { require(GrB_Matrix_wait(a_.get(), GrB_MATERIALIZE), "GrB_Matrix_wait"); }
  void set(batch_view batch) {
    for (std::int64_t k = 0; k < batch.size(); ++k) {
      const GrB_Index row = place(batch.rowind()[k]), column = place(batch.colind()[k]);
      if constexpr (single<T>)
        require(GrB_Matrix_setElement_FP32(a_.get(), batch.values()[k], row, column), "setElement");
      else
        require(GrB_Matrix_setElement_FP64(a_.get(), batch.values()[k], row, column), "setElement");
    }
  }
  void add(batch_view batch) {
    const std::vector<GrB_Index> rows(batch.rowind().begin(), batch.rowind().end()),
        columns(batch.colind().begin(), batch.colind().end());
    const auto more = new_matrix(type<T>(), shape_.row, shape_.col);
    if constexpr (single<T>)
      require(GrB_Matrix_build_FP32(more.get(), rows.data(), columns.data(), batch.values().data(),
                                    rows.size(), plus<T>()),
              "GrB_Matrix_build");
    else
      require(GrB_Matrix_build_FP64(more.get(), rows.data(), columns.data(), batch.values().data(),
                                    rows.size(), plus<T>()),
              "GrB_Matrix_build");
    require(GrB_Matrix_eWiseAdd_BinaryOp(a_.get(), nullptr, nullptr, plus<T>(), a_.get(),
                                         more.get(), nullptr),
            "GrB_eWiseAdd");
  }

  index<index_t> shape_;
  matrix a_;
  vector x_, y_;
  bool by_element_;
};

} // namespace

template <class T>
std::vector<update_contestant<T, space::host>> graphblas_update_contestants(int threads) {
  join_session(threads);
  const auto way = [](const char* name, bool by_element) {
    update_contestant<T, space::host> c;
    c.name = name;
    c.rule = by_element ? update_rule::replace : update_rule::add;
    c.erases = by_element;
    c.load = [by_element](csr_view<const T> a, std::int64_t) {
      return std::make_unique<graphblas_updated<T>>(a, by_element);
    };
    return c;
  };
  return {way("GraphBLAS: setElement", true), way("GraphBLAS: build, A + B", false)};
}

template std::vector<update_contestant<float, space::host>> graphblas_update_contestants(int);
template std::vector<update_contestant<double, space::host>> graphblas_update_contestants(int);

} // namespace lacuna::bench
