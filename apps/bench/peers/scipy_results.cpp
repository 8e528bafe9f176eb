// SciPy where the result is a matrix: +, .T and @ in a process of its own, on one thread. Times are
// taken here, as everybody's: they have the way through two pipes in them, some 50 us.
#include <fmt/format.h>

#include "bench/peers/peers.hpp"
#include "bench/peers/scipy_exchange.hpp"

namespace lacuna::bench {
namespace {

const char* request_for(suite what) {
  switch (what) {
  case suite::add: return "make add";
  case suite::add_t: return "make add_t";
  case suite::transpose: return "make transpose";
  default: return "make spgemm";
  }
}

/// Only one at a time: the process has one A, B and C. C goes when the next is made, in its time.
template <class T> class scipy_result : public prepared {
public:
  scipy_result(std::shared_ptr<scipy> python, const host_problem<T>& p)
      : python_(std::move(python)), p_(p) {
    send("a", p.a);
    if (p.b.values().data() == p.a.values().data())
      python_->require("same b");
    else if (!p.b.rowptr().empty())
      send("b", p.b);
  }
  scipy_result(const scipy_result&) = delete;
  scipy_result& operator=(const scipy_result&) = delete;
  ~scipy_result() override { (void)python_->ask("drop all"); }
  void run() override { python_->require(request_for(p_.what)); }
  void fetch() override {
    const exchange files;
    files.write(".x", p_.x.data(), p_.x.shape().row);
    python_->require("check " + files.path());
    files.read(".y", p_.y.data(), p_.y.shape().row);
  }

private:
  void send(const char* name, csr_view<const T, index_t, offset_t> a) {
    const exchange files;
    files.write(a);
    python_->require(fmt::format("operand {} {} {} f{} {}", name, a.shape().row, a.shape().col,
                                 sizeof(T), files.path()));
  }

  std::shared_ptr<scipy> python_;
  host_problem<T> p_;
};

} // namespace

template <class T> host_peer<T> scipy_peer() {
  const auto python = shared_python();
  if (!python->is_there()) return {"SciPy", python->about(), {}};
  const auto prepare = [python](const host_problem<T>& p) {
    return std::make_unique<scipy_result<T>>(python, p);
  };
  return {
      "SciPy", python->about() + " (one thread)", {{"SciPy", role::peer, matrix_suites, prepare}}};
}

template host_peer<float> scipy_peer();
template host_peer<double> scipy_peer();

} // namespace lacuna::bench
