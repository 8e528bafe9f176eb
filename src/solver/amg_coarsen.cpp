// From a matrix to the pattern of its prolongator, and the prolongator's values.
#include <lacuna/op/spgemm.hpp>

#include "solver/amg_hierarchy.hpp"

namespace lacuna::detail {
namespace {

using namespace amg_rows;

template <class T, space S> class coarsening {
public:
  coarsening(const context<S>& ctx, amg_hierarchy<T, S>& h, int level)
      : ctx_(ctx), options_(h.options), l_(h.levels[static_cast<std::size_t>(level)]),
        seconds_(h.report.seconds), theta_(static_cast<T>(h.strength(level))) {}

  std::int64_t run(const array<T, S>& largest) {
    const std::int64_t n = l_.rows();
    const amg_stopwatch watch(seconds_.aggregation);
    l_.strong = array<unsigned char, S>(ctx_, l_.a.size());
    if (options_.kind == amg_kind::classical) {
      amg_each(ctx_, n,
               classical_strength<T>{l_.rows_of_a(), theta_, l_.diagonal.data(), largest.data(),
                                     l_.strong.data()});
      return classical();
    }
    if (l_.unknowns > 1) return of_nodes();
    amg_each(ctx_, n,
             symmetric_strength<T>{l_.rows_of_a(), theta_, l_.diagonal.data(), largest.data(),
                                   l_.strong.data()});
    const int found = aggregate(n, l_.rows_of_a(), l_.strong.data());
    if (found == 0) return 0;
    if (!l_.by_pairs()) return several(found);
    if constexpr (S == space::host) return found; // P's pattern is made with its values
    array<int, S> list_at(ctx_, n), list(ctx_, n + l_.a.size()), count(ctx_, n);
    amg_each(ctx_, n,
             prolongator_columns{l_.a.rowptr().data(), l_.a.colind().data(), l_.strong.data(),
                                 l_.aggregate.data(), list_at.data(), list.data(), count.data()});
    l_.p = pattern_of(count, found);
    amg_each(
        ctx_, n,
        copy_segments{list_at.data(), list.data(), l_.p.rowptr().data(), l_.p.colind().data()});
    return found;
  }

private:
  /// A matrix with rows of these lengths; columns are the caller's to write.
  amg_matrix<T, S> pattern_of(const array<int, S>& counts, std::int64_t columns) {
    array<int, S> rowptr(ctx_, counts.size() + 1);
    const std::int64_t entries = amg_sums(ctx_, counts, rowptr);
    return {{static_cast<int>(counts.size()), static_cast<int>(columns)},
            std::move(rowptr),
            array<int, S>(ctx_, entries),
            array<T, S>(ctx_, entries),
            {true, true}};
  }
  bool any_left(array<int, S>& flag) {
    int left = 0;
    const host_context here({1});
    settle<space::host, S>(flag.data());
    copy_bytes(here, &left, flag.data(), sizeof(int), S);
    return left != 0;
  }
  void clear(array<int, S>& flag) {
    const int zero = 0;
    copy_bytes(ctx_, flag.data(), &zero, sizeof(int), space::host);
  }

  int aggregate(std::int64_t nodes, amg_rows::matrix<T> a, const unsigned char* strong) {
    l_.aggregate = array<int, S>(ctx_, nodes);
    if constexpr (S == space::host)
      if (options_.aggregation != amg_aggregation::independent_set)
        return cpu::amg_greedy<T>(nodes, a, strong, l_.aggregate.data());
    array<std::uint64_t, S> keys(ctx_, nodes), spread(ctx_, nodes);
    array<int, S> flag(ctx_, 1), member(ctx_, nodes), number(ctx_, nodes + 1), first(ctx_, nodes);
    amg_each(ctx_, nodes, set_start{a.rowptr, strong, keys.data()});
    do {
      // Two rounds for each look at the flag: a look costs as much as a round.
      for (int round = 0; round < 2; ++round) {
        amg_each(ctx_, nodes, set_spread{a.rowptr, a.colind, strong, keys.data(), spread.data()});
        if (round == 1) clear(flag);
        amg_each(ctx_, nodes,
                 set_decide{a.rowptr, a.colind, strong, spread.data(), keys.data(), flag.data()});
      }
    } while (any_left(flag));
    amg_each(ctx_, nodes, set_members{keys.data(), member.data()});
    const std::int64_t found = amg_sums(ctx_, member, number);
    amg_each(ctx_, nodes,
             join_root{a.rowptr, a.colind, strong, keys.data(), number.data(), first.data()});
    amg_each(ctx_, nodes, join_neighbour<T>{a, strong, first.data(), l_.aggregate.data()});
    return static_cast<int>(found);
  }

  /// Nodes of several unknowns: connections by the norms of their blocks.
  std::int64_t of_nodes() {
    const std::int64_t n = l_.rows(), nodes = n / l_.unknowns;
    array<T, S> squares(ctx_, l_.a.size());
    amg_each(ctx_, squares.size(), square_values<T>{l_.a.values().data(), squares.data()});
    amg_matrix<T, S> q(ctx_, {static_cast<int>(n), static_cast<int>(nodes)}, static_cast<int>(n),
                       {true, true});
    amg_each(ctx_, n + 1,
             nodes_of_unknowns<T>{l_.unknowns, q.rowptr().data(), q.colind().data(),
                                  q.values().data(), n});
    const auto qt = transpose(ctx_, q);
    const amg_view<T, S> squared(squares.data(), l_.a.rowptr().data(), l_.a.colind().data(),
                                 l_.a.shape(), l_.a.size(), {true, true});
    auto norms = galerkin(ctx_, qt, squared, q);
    amg_each(ctx_, norms.size(), root_values<T>{norms.values().data()});
    const amg_rows::matrix<T> blocks{norms.rowptr().data(), norms.colind().data(),
                                     norms.values().data()};
    array<T, S> diagonal(ctx_, nodes), largest(ctx_, nodes), ratio(ctx_, nodes);
    array<unsigned char, S> strong(ctx_, norms.size());
    amg_each(ctx_, nodes,
             row_facts<T>{blocks, false, diagonal.data(), largest.data(), ratio.data()});
    amg_each(ctx_, nodes,
             symmetric_strength<T>{blocks, theta_, diagonal.data(), largest.data(), strong.data()});
    const int found = aggregate(nodes, blocks, strong.data());
    if (found == 0) return 0;
    amg_each(
        ctx_, n,
        strength_of_nodes<T>{l_.rows_of_a(), l_.unknowns, blocks, strong.data(), l_.strong.data()});
    return several(found);
  }

  /// The tentative prolongator by QR of each aggregate, and the pattern of its smoothing.
  std::int64_t several(int found) {
    const std::int64_t n = l_.rows(), nodes = n / l_.unknowns;
    array<int, S> count(ctx_, nodes);
    amg_each(ctx_, nodes, is_member{l_.aggregate.data(), count.data()});
    amg_matrix<T, S> member = pattern_of(count, found);
    amg_each(ctx_, nodes,
             membership<T>{member.rowptr().data(), l_.aggregate.data(), member.colind().data(),
                           member.values().data()});
    const auto members = transpose(ctx_, member);
    count = array<int, S>(ctx_, n);
    amg_each(ctx_, n, tentative_counts{l_.unknowns, l_.vectors, l_.aggregate.data(), count.data()});
    l_.tentative = pattern_of(count, std::int64_t{found} * l_.vectors);
    amg_each(ctx_, n,
             tentative_entries<T>{l_.unknowns, l_.vectors, n, l_.aggregate.data(), l_.near.data(),
                                  l_.tentative.rowptr().data(), l_.tentative.colind().data(),
                                  l_.tentative.values().data()});
    l_.coarse_near = array<T, S>(ctx_, std::int64_t{found} * l_.vectors * l_.vectors);
    amg_each(ctx_, found,
             orthonormal_vectors<T>{l_.unknowns, l_.vectors, members.rowptr().data(),
                                    members.colind().data(), l_.tentative.rowptr().data(),
                                    l_.tentative.values().data(), l_.coarse_near.data(),
                                    std::int64_t{found} * l_.vectors});
    amg_each(ctx_, n, count_smoothing{l_.a.rowptr().data(), l_.strong.data(), count.data()});
    l_.smoothing = pattern_of(count, n);
    return std::int64_t{found} * l_.vectors;
  }

  std::int64_t classical() {
    const std::int64_t n = l_.rows();
    const bool far = options_.interpolation == amg_interpolation::extended;
    array<int, S> count(ctx_, n), flag(ctx_, 1);
    amg_each(ctx_, n, count_strong{l_.a.rowptr().data(), l_.strong.data(), count.data()});
    amg_matrix<T, S> s = pattern_of(count, n);
    amg_each(ctx_, n,
             strong_pattern<T>{l_.a.rowptr().data(), l_.a.colind().data(), l_.strong.data(),
                               s.rowptr().data(), s.colind().data(), s.values().data()});
    const auto st = transpose(ctx_, s);
    array<std::uint64_t, S> keys(ctx_, n);
    array<unsigned char, S> picked(ctx_, n);
    const int* const sp = s.rowptr().data();
    const int* const sc = s.colind().data();
    amg_each(ctx_, n, pmis_start{st.rowptr().data(), keys.data()});
    do {
      for (int round = 0; round < 2; ++round) {
        amg_each(
            ctx_, n,
            pmis_pick{sp, sc, st.rowptr().data(), st.colind().data(), keys.data(), picked.data()});
        clear(flag);
        amg_each(ctx_, n, pmis_settle{sp, sc, picked.data(), keys.data(), flag.data()});
      }
    } while (any_left(flag));
    l_.coarse = array<int, S>(ctx_, n);
    l_.number = array<int, S>(ctx_, n + 1);
    amg_each(ctx_, n, set_members{keys.data(), l_.coarse.data()});
    const std::int64_t found = amg_sums(ctx_, l_.coarse, l_.number);
    if (found == 0 || found == n) return 0;
    l_.aggregate = array<int, S>(ctx_, n);
    amg_each(ctx_, n, coarse_numbers{l_.coarse.data(), l_.number.data(), l_.aggregate.data()});
    l_.list_at = array<int, S>(ctx_, n + 1);
    l_.count = array<int, S>(ctx_, n);
    amg_each(ctx_, n, interpolation_room{sp, sc, l_.coarse.data(), far, count.data()});
    l_.list = array<int, S>(ctx_, amg_sums(ctx_, count, l_.list_at));
    amg_each(ctx_, n,
             interpolation_candidates{sp, sc, l_.coarse.data(), far, l_.list_at.data(),
                                      l_.list.data(), l_.count.data()});
    l_.weights = interpolation(ctx_, options_, l_);
    array<unsigned char, S> keep(ctx_, l_.list.size());
    const int most = options_.most_interpolated > 0 ? options_.most_interpolated
                                                    : std::numeric_limits<int>::max();
    amg_each(ctx_, n,
             truncate_weights<T>{most, static_cast<T>(options_.least_interpolated),
                                 l_.list_at.data(), l_.count.data(), l_.weights.data(), keep.data(),
                                 count.data()});
    l_.p = pattern_of(count, found);
    amg_each(ctx_, n,
             interpolation_columns{l_.list_at.data(), l_.list.data(), l_.count.data(), keep.data(),
                                   l_.number.data(), l_.p.rowptr().data(), l_.p.colind().data()});
    return found;
  }

public:
  /// Weights of all candidates.
  static array<T, S> interpolation(const context<S>& ctx, const amg_options& options,
                                   amg_level<T, S>& l) {
    array<T, S> weights(ctx, l.list.size());
    amg_each(
        ctx, l.rows(),
        interpolation_weights<T>{l.rows_of_a(), l.diagonal.data(), l.strong.data(), l.coarse.data(),
                                 options.interpolation == amg_interpolation::extended,
                                 l.list_at.data(), l.list.data(), l.count.data(), weights.data()});
    return weights;
  }

private:
  const context<S>& ctx_;
  const amg_options& options_;
  amg_level<T, S>& l_;
  amg_seconds& seconds_;
  T theta_;
};

} // namespace

template <class T, space S>
std::int64_t amg_coarsen(const context<S>& ctx, amg_hierarchy<T, S>& h, int level,
                         const array<T, S>& largest) {
  return coarsening<T, S>(ctx, h, level).run(largest);
}

template <class T, space S>
void amg_interpolate(const context<S>& ctx, const amg_options& options, amg_level<T, S>& l,
                     std::int64_t columns) {
  const std::int64_t n = l.rows();
  if (options.kind == amg_kind::classical) {
    if (l.weights.size() == 0) l.weights = coarsening<T, S>::interpolation(ctx, options, l);
    amg_each(ctx, n,
             interpolation_values<T>{l.list_at.data(), l.list.data(), l.count.data(),
                                     l.weights.data(), l.number.data(), l.p.rowptr().data(),
                                     l.p.colind().data(), l.p.values().data()});
    l.weights = {};
    return;
  }
  const double omega =
      l.spectral_radius > 0 ? options.prolongator_relaxation / l.spectral_radius : 0;
  if constexpr (S == space::host)
    if (l.by_pairs()) {
      if (l.p.size() == 0)
        l.p = cpu::amg_prolongator<T>(ctx, n, columns, l.rows_of_a(), l.strong.data(),
                                      l.aggregate.data(), l.near.data(), static_cast<T>(omega));
      else
        cpu::amg_refill_prolongator<T>(ctx, l.rows_of_a(), l.strong.data(), l.aggregate.data(),
                                       l.near.data(), static_cast<T>(omega), l.p);
      return;
    }
  array<T, S> factor(ctx, n), filtered(ctx, n);
  amg_each(ctx, n,
           smoothing_factors<T>{l.rows_of_a(), l.strong.data(), static_cast<T>(omega),
                                factor.data(), filtered.data()});
  if (l.by_pairs())
    return amg_each(ctx, n,
                    prolongator_values<T>{l.rows_of_a(), l.strong.data(), l.aggregate.data(),
                                          l.near.data(), factor.data(), filtered.data(),
                                          l.p.rowptr().data(), l.p.colind().data(),
                                          l.p.values().data()});
  amg_each(ctx, n,
           smoothing_matrix<T>{l.rows_of_a(), l.strong.data(), factor.data(), filtered.data(),
                               l.smoothing.rowptr().data(), l.smoothing.colind().data(),
                               l.smoothing.values().data()});
  auto p = multiply(ctx, l.smoothing, l.tentative);
  if (l.p.size() == 0)
    l.p = std::move(p);
  else // what looks at P's pattern keeps doing so
    update_values(ctx, l.p, p);
}

#define LACUNA_INSTANTIATE_ON(T, S)                                                                \
  template std::int64_t amg_coarsen(const context<S>&, amg_hierarchy<T, S>&, int,                  \
                                    const array<T, S>&);                                           \
  template void amg_interpolate(const context<S>&, const amg_options&, amg_level<T, S>&,           \
                                std::int64_t);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_INSTANTIATE_ON(T, space::host)                                                            \
  LACUNA_INSTANTIATE_ON(T, space::device)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
