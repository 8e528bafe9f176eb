// SciPy as a matrix that changes, in a process of its own, on one thread: lil by arrays of indices,
// dok entry by entry, both as its users would. Times have the way through files and pipes in them,
// some 100 us per batch.
#include "bench/peers/scipy_exchange.hpp"
#include "bench/update/contestant.hpp"
#include <lacuna/op/copy.hpp>

namespace lacuna::bench {
namespace {

template <class T> class scipy_updated : public updated_matrix<T, space::host> {
public:
  using batch_view = typename updated_matrix<T, space::host>::batch_view;
  scipy_updated(std::shared_ptr<scipy> python, csr_view<const T> a, const char* kind)
      : python_(std::move(python)), name_(kind), shape_(a.shape()) {
    const exchange files;
    files.write(a);
    python_->require(fmt::format("hold {} {} {} {} f{} {}", name_, kind, a.shape().row,
                                 a.shape().col, sizeof(T), files.path()));
  }
  scipy_updated(const scipy_updated&) = delete;
  scipy_updated& operator=(const scipy_updated&) = delete;
  ~scipy_updated() override { (void)python_->ask("leave " + name_); }
  void insert(batch_view batch) override {
    const exchange files;
    files.write(".rowind", batch.rowind().data(), batch.size());
    files.write(".colind", batch.colind().data(), batch.size());
    files.write(".values", batch.values().data(), batch.size());
    python_->require(fmt::format("insert {} f{} {}", name_, sizeof(T), files.path()));
  }
  csr<T> fetch() override {
    const exchange files;
    python_->require(fmt::format("fetch {} {}", name_, files.path()));
    const host_context ctx;
    array<offset_t> rowptr(ctx, std::int64_t{shape_.row} + 1);
    files.read(".rowptr", rowptr.data(), rowptr.size());
    array<index_t> colind(ctx, rowptr[shape_.row]);
    array<T> values(ctx, rowptr[shape_.row]);
    files.read(".colind", colind.data(), colind.size());
    files.read(".values", values.data(), values.size());
    return {shape_, std::move(rowptr), std::move(colind), std::move(values), {true, true}};
  }

private:
  std::shared_ptr<scipy> python_;
  std::string name_; ///< in the process: one matrix of a kind at a time
  index<index_t> shape_;
};

} // namespace

template <class T> std::vector<update_contestant<T, space::host>> scipy_update_contestants() {
  const auto python = shared_python();
  if (!python->is_there()) return {};
  std::vector<update_contestant<T, space::host>> result;
  for (const char* kind : {"lil", "dok"}) {
    update_contestant<T, space::host> c;
    c.name = fmt::format("SciPy: {}", kind);
    c.most_entries = 20000; // some microseconds per entry
    c.multiplies = false;   // a conversion to CSR each time
    c.load = [python, kind](csr_view<const T> a, std::int64_t) {
      if (a.size() > 3'000'000) throw unsupported("more than 3 M objects of Python's");
      return std::make_unique<scipy_updated<T>>(python, a, kind);
    };
    result.push_back(std::move(c));
  }
  return result;
}

template std::vector<update_contestant<float, space::host>> scipy_update_contestants();
template std::vector<update_contestant<double, space::host>> scipy_update_contestants();

} // namespace lacuna::bench
