// PageRank of an undirected graph whose edges come in batches: the graph is a dynamic matrix, and
// each time the ranks of the last one are where the iteration begins. Beside it the same from the
// start, for comparison. On the host, and on a GPU if there is one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include <lacuna/lacuna.hpp>

namespace {

constexpr double damping = 0.85, tolerance = 1e-9;

/// Edges [begin, end) of the graph, in both directions.
template <lacuna::space S>
lacuna::coo<double, lacuna::index_t, lacuna::index_t, S>
edges(const lacuna::context<S>& ctx, const lacuna::coo<double>& all, std::int64_t begin,
      std::int64_t end) {
  std::vector<lacuna::index_t> from, to;
  for (std::int64_t k = begin; k < end; ++k) {
    const lacuna::index_t u = all.rowind()[k], v = all.colind()[k];
    from.insert(from.end(), {u, v});
    to.insert(to.end(), {v, u});
  }
  const std::vector<double> ones(from.size(), 1.0);
  return copy_to(ctx,
                 lacuna::coo_view<const double>(ones, from, to, all.shape(), std::ssize(ones)));
}

/// rank = (1 - d) / n + d A D^-1 rank, until it changes by less than the tolerance; vertices
/// without neighbours give their rank to all. Returns the number of products.
template <lacuna::space S, class Graph>
int rank_vertices(const lacuna::context<S>& ctx, const Graph& graph,
                  lacuna::array<double, S>& rank) {
  const std::int64_t n = graph.shape().row;
  // What a vertex gives to each neighbour: a diagonal matrix.
  auto degrees = lacuna::array<double, S>(ctx, n);
  const auto ones = copy_to(ctx, std::vector<double>(static_cast<std::size_t>(n), 1.0));
  multiply(ctx, graph, ones, degrees);
  auto share = copy_to(lacuna::host_context(), degrees);
  std::vector<double> alone(static_cast<std::size_t>(n));
  std::vector<lacuna::index_t> diagonal, rowptr{0};
  for (std::int64_t i = 0; i < n; ++i) {
    alone[static_cast<std::size_t>(i)] = share[i] == 0 ? 1.0 : 0.0;
    share[i] = share[i] == 0 ? 0.0 : 1.0 / share[i];
    diagonal.push_back(static_cast<lacuna::index_t>(i));
    rowptr.push_back(static_cast<lacuna::index_t>(i + 1));
  }
  const auto shares =
      copy_to(ctx, lacuna::csr_view<const double>(std::as_const(share).data(), rowptr.data(),
                                                  diagonal.data(), graph.shape(), n));
  const auto alone_there = copy_to(ctx, alone);

  auto given = lacuna::array<double, S>(ctx, n), next = lacuna::array<double, S>(ctx, n);
  for (int products = 1;; ++products) {
    multiply(ctx, shares, rank, given);
    const double to_all = (1 - damping + damping * dot(ctx, alone_there, rank)) / double(n);
    multiply(ctx, scaled(damping, graph), given, scaled(to_all, ones), next);
    axpby(ctx, -1.0, next, 1.0, rank); // by how much they change
    const double change = norm1(ctx, rank);
    std::swap(rank, next);
    if (change < tolerance) return products;
  }
}

template <lacuna::space S> bool run(const lacuna::context<S>& ctx, const lacuna::coo<double>& all) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  const std::int64_t n = all.shape().row, loaded = all.size() * 9 / 10, batch = all.size() / 100;
  const auto even = [&] {
    return copy_to(ctx, std::vector<double>(static_cast<std::size_t>(n), 1.0 / double(n)));
  };
  lacuna::dynamic_csr<double, lacuna::index_t, lacuna::index_t, S> graph(ctx, all.shape());
  const auto first = edges(ctx, all, 0, loaded);
  insert(ctx, graph, first, {.existing = lacuna::existing::keep});
  compact(ctx, graph);
  auto rank = even();
  std::printf("%s: %lld vertices, %d products for the first %lld edges\n", to_string(S),
              static_cast<long long>(n), rank_vertices(ctx, graph, rank),
              static_cast<long long>(graph.size() / 2));

  double worst = 0;
  for (std::int64_t begin = loaded; begin + batch <= all.size(); begin += batch) {
    const auto start = clock::now();
    const auto more = edges(ctx, all, begin, begin + batch);
    insert(ctx, graph, more, {.existing = lacuna::existing::keep});
    const int products = rank_vertices(ctx, graph, rank);
    const double took = seconds(start);

    const auto again = clock::now(); // the same graph as a CSR, from even ranks
    const auto rebuilt = to_csr(
        ctx, merge_duplicates(ctx, edges(ctx, all, 0, begin + batch), lacuna::duplicates::first));
    auto fresh = even();
    const int products_fresh = rank_vertices(ctx, rebuilt, fresh);
    const double took_fresh = seconds(again);

    axpby(ctx, -1.0, rank, 1.0, fresh);
    const double apart = norm1(ctx, fresh);
    worst = apart > worst ? apart : worst;
    std::printf("%9lld edges: %2d products, %6.1f ms; from the start %2d, %6.1f ms; %.0e apart\n",
                static_cast<long long>(graph.size() / 2), products, took * 1e3, products_fresh,
                took_fresh * 1e3, apart);
  }
  return worst < 100 * tolerance && std::abs(norm1(ctx, rank) - 1) < 1e-6;
}

} // namespace

int main() {
  // Edges of an R-MAT graph, shuffled.
  const auto a = lacuna::gen::generate("rmat:scale=14,edges=8");
  const auto ordered = to_coo(a);
  std::vector<std::int64_t> order(static_cast<std::size_t>(ordered.size()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  lacuna::coo<double> all(lacuna::host_context(), a.shape(), ordered.size());
  for (std::int64_t k = 0; k < all.size(); ++k) {
    const std::int64_t from = order[static_cast<std::size_t>(k)];
    all.rowind()[k] = ordered.rowind()[from];
    all.colind()[k] = ordered.colind()[from];
    all.values()[k] = 1;
  }
  bool good = run(lacuna::host_context(), all);
  if (lacuna::device_count() > 0) good = run(lacuna::device_context(), all) && good;
  return good ? 0 : 1;
}
