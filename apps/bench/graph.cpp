#include "bench/graph.hpp"

#include <cuda_runtime_api.h>

#include "bench/cuda_call.hpp"
#include "bench/lacuna_contestants.hpp"

namespace lacuna::bench {
namespace {

/// Matrices of this many entries or more keep the device busy for longer than a launch takes.
constexpr std::int64_t small_entries = 1500000;

/// A recorded sequence of work, ready to be launched.
class graph {
public:
  /// Records what `work` queues on the stream; nothing of it runs. Throws if work does, or does
  /// what cannot be recorded, and the stream is as before.
  template <class Work> graph(cudaStream_t stream, const Work& work) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
    cudaGraph_t recorded = nullptr;
    try {
      work();
    } catch (...) {
      if (cudaStreamEndCapture(stream, &recorded) == cudaSuccess) (void)cudaGraphDestroy(recorded);
      (void)cudaGetLastError();
      throw;
    }
    require(cudaStreamEndCapture(stream, &recorded), "cudaStreamEndCapture");
    const std::shared_ptr<CUgraph_st> keeper(recorded, cudaGraphDestroy);
    count(recorded);
    require(cudaGraphInstantiate(&ready_, recorded, 0), "cudaGraphInstantiate");
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() { (void)cudaGraphExecDestroy(ready_); }

  void launch(cudaStream_t stream) const {
    require(cudaGraphLaunch(ready_, stream), "cudaGraphLaunch");
  }
  [[nodiscard]] std::size_t kernels() const { return kernels_; }
  [[nodiscard]] std::size_t others() const { return others_; }

private:
  void count(cudaGraph_t recorded) {
    std::size_t size = 0;
    require(cudaGraphGetNodes(recorded, nullptr, &size), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> nodes(size);
    require(cudaGraphGetNodes(recorded, nodes.data(), &size), "cudaGraphGetNodes");
    for (const auto node : nodes) {
      cudaGraphNodeType type{};
      require(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
      ++(type == cudaGraphNodeTypeKernel ? kernels_ : others_);
    }
  }

  cudaGraphExec_t ready_ = nullptr;
  std::size_t kernels_ = 0, others_ = 0;
};

template <class T> class graph_product : public prepared {
public:
  graph_product(const device_context& ctx, const problem<T, space::device>& p)
      : ctx_(ctx), planned_(ctx, p, "") {
    planned_.run(); // kernels are loaded at their first launch, which cannot be recorded
    ctx.synchronize();
    graph_.emplace(ctx.stream(), [this] { planned_.run(); });
  }
  void run() override { graph_->launch(ctx_.stream()); }
  [[nodiscard]] std::size_t extra_bytes() const override { return planned_.extra_bytes(); }
  [[nodiscard]] choice explain() const override {
    return {"the plan, captured", "launches per product: " + std::to_string(graph_->kernels()) +
                                      ", other nodes: " + std::to_string(graph_->others())};
  }

private:
  device_context ctx_;
  planned_product<T, space::device> planned_;
  std::optional<graph> graph_;
};

} // namespace

template <class T> peer<T, space::device> graph_entrant(const device_context& ctx) {
  const auto prepare = [ctx](const problem<T, space::device>& p) {
    return std::make_unique<graph_product<T>>(ctx, p);
  };
  return {"CUDA graph",
          "Lacuna's plan captured once, on matrices of less than 1.5 M entries",
          {{"Lacuna, graph", role::lacuna_too, {suite::spmv}, prepare, small_entries - 1}}};
}

template peer<float, space::device> graph_entrant(const device_context&);
template peer<double, space::device> graph_entrant(const device_context&);

} // namespace lacuna::bench
