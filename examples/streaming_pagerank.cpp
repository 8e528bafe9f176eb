// PageRank of a graph whose edges come in batches: the graph is a dynamic matrix, and each time the
// iteration begins with the ranks of the last one. Beside it the same from the start, for
// comparison. On the host, and on a GPU if there is one.
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

/// Edges [begin, end) of the stream: an edge from u to v is entry (v, u), so that a product adds up
/// what vertices are given.
template <lacuna::space S>
auto edges(const lacuna::context<S>& ctx, const lacuna::coo<double>& all, std::int64_t begin,
           std::int64_t end) {
  return copy_to(
      ctx, lacuna::coo_view<const double>(all.values().data() + begin, all.colind().data() + begin,
                                          all.rowind().data() + begin, all.shape(), end - begin));
}

/// A vertex gives its rank to those that it has edges to, in equal shares; one without edges to
/// all.
template <lacuna::space S> struct shares {
  lacuna::csr<double, lacuna::index_t, lacuna::index_t, S> of_edges; ///< diagonal
  lacuna::array<double, S> without_edges;                            ///< 1 for these vertices

  shares(const lacuna::context<S>& ctx, const lacuna::coo<double>& all, std::int64_t end) {
    const std::int64_t n = all.shape().row;
    std::vector<double> share(static_cast<std::size_t>(n), 0.0), without(share.size());
    for (std::int64_t k = 0; k < end; ++k) share[static_cast<std::size_t>(all.rowind()[k])] += 1;
    std::vector<lacuna::index_t> places(share.size() + 1);
    std::iota(places.begin(), places.end(), 0);
    for (std::size_t i = 0; i < share.size(); ++i) {
      without[i] = share[i] == 0 ? 1 : 0;
      share[i] = share[i] == 0 ? 0 : 1 / share[i];
    }
    of_edges = copy_to(ctx, lacuna::csr_view<const double>(share.data(), places.data(),
                                                           places.data(), all.shape(), n));
    without_edges = copy_to(ctx, without);
  }
};

/// rank = d (A share rank) + what all get alike, until it changes by less than the tolerance.
/// Returns the number of products.
template <lacuna::space S, class Graph>
int rank_vertices(const lacuna::context<S>& ctx, const Graph& graph, const shares<S>& share,
                  lacuna::array<double, S>& rank) {
  const auto n = static_cast<double>(rank.size());
  lacuna::array<double, S> given(ctx, rank.size()), next(ctx, rank.size()), ones(ctx, rank.size());
  fill(ctx, 1.0, ones);
  for (int products = 1;; ++products) {
    multiply(ctx, share.of_edges, rank, given);
    const double to_all = (1 - damping + damping * dot(ctx, share.without_edges, rank)) / n;
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
  const std::int64_t n = all.shape().row, batch = all.size() / 1000;
  const std::int64_t loaded = all.size() - 8 * batch;
  const auto even = [&] {
    lacuna::array<double, S> rank(ctx, n);
    fill(ctx, 1 / static_cast<double>(n), rank);
    return rank;
  };
  const auto first = edges(ctx, all, 0, loaded);
  auto graph = to_dynamic_csr(ctx, to_csr(ctx, first));
  auto rank = even();
  const int products = rank_vertices(ctx, graph, shares<S>(ctx, all, loaded), rank);
  std::printf("%s: %lld vertices, %d products for the first %lld edges\n", to_string(S),
              static_cast<long long>(n), products, static_cast<long long>(graph.size()));

  double worst = 0;
  for (std::int64_t end = loaded + batch; end <= all.size(); end += batch) {
    const shares<S> share(ctx, all, end);
    const auto start = clock::now();
    const auto more = edges(ctx, all, end - batch, end);
    insert(ctx, graph, more);
    const int more_products = rank_vertices(ctx, graph, share, rank);
    const double took = seconds(start);

    const auto again = clock::now();
    const auto every = edges(ctx, all, 0, end);
    const auto rebuilt = to_csr(ctx, every);
    auto fresh = even();
    const int all_products = rank_vertices(ctx, rebuilt, share, fresh);
    const double took_again = seconds(again);

    axpby(ctx, -1.0, rank, 1.0, fresh);
    const double apart = norm1(ctx, fresh);
    worst = std::max(worst, apart);
    std::printf("%9lld edges: %2d products, %6.1f ms; from the start %2d, %6.1f ms; %.0e apart\n",
                static_cast<long long>(graph.size()), more_products, took * 1e3, all_products,
                took_again * 1e3, apart);
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
