// A kernel of one's own over a matrix that changes: for each vertex, the degrees of its neighbours
// added up, by the matrix's view; then edges come in, and again.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update.hpp>

namespace {

using graph_view =
    lacuna::dynamic_csr_view<const float, std::int32_t, std::int32_t, lacuna::space::device>;

/// One thread per vertex. The view is copied to the kernel: it is pointers and sizes.
__global__ void add_degrees_of_neighbours(graph_view graph, float* sums) {
  const int vertex = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (vertex >= graph.shape().row) return;
  float sum = 0;
  graph.for_each_in_row(vertex, [&](std::int32_t neighbour, float) {
    sum += static_cast<float>(graph.row_size(neighbour));
  });
  sums[vertex] = sum;
}

} // namespace

int main() {
  if (lacuna::device_count() == 0) {
    std::puts("no device");
    return 0;
  }
  const lacuna::device_context ctx;
  // A ring of 1000 vertices; later a chord from each tenth one.
  const int n = 1000;
  std::vector<std::int32_t> from, to;
  const auto connect = [&](int u, int v) {
    from.insert(from.end(), {u, v});
    to.insert(to.end(), {v, u});
  };
  for (int u = 0; u < n; ++u) connect(u, (u + 1) % n);
  std::vector<float> ones(from.size(), 1.0f);
  lacuna::dynamic_csr<float, std::int32_t, std::int32_t, lacuna::space::device> graph(ctx, {n, n});
  const auto insert_edges = [&] {
    ones.resize(from.size(), 1.0f);
    const auto batch =
        copy_to(ctx, lacuna::coo_view<const float>(ones, from, to, {n, n}, std::ssize(ones)));
    insert(ctx, graph, batch);
    from.clear();
    to.clear();
  };
  insert_edges();

  lacuna::array<float, lacuna::space::device> sums(ctx, n), degrees(ctx, n), product(ctx, n);
  const auto all_ones = copy_to(ctx, std::vector<float>(n, 1.0f));
  bool good = true;
  for (int step = 0; step < 2; ++step) {
    // After a batch has come in the view is another.
    add_degrees_of_neighbours<<<(n + 255) / 256, 256, 0, ctx.stream()>>>(graph.view(), sums.data());
    // The same by products: A (A 1).
    multiply(ctx, graph, all_ones, degrees);
    multiply(ctx, graph, degrees, product);
    const auto is = copy_to(lacuna::host_context(), sums);
    const auto wanted = copy_to(lacuna::host_context(), product);
    good = good && std::equal(is.begin(), is.end(), wanted.begin());
    std::printf("%lld entries: vertex 0's neighbours have %g edges\n",
                static_cast<long long>(graph.size()), is[0]);
    for (int u = 0; u < n; u += 10) connect(u, (u + n / 2 + 5) % n);
    insert_edges();
  }
  return good && cudaGetLastError() == cudaSuccess ? 0 : 1;
}
