// lacuna-bench update: batches into matrices that change, beside those who build a new one.
#pragma once

#include "bench/update/measure.hpp"

namespace lacuna::bench {

/// Sizes of batches, unless the user names others.
inline std::vector<std::int64_t> usual_batches(space s) {
  return s == space::device ? std::vector<std::int64_t>{10000, 1000000, 10000000}
                            : std::vector<std::int64_t>{1000, 10000, 100000};
}
inline int usual_count(std::int64_t entries) {
  return entries <= 10000 ? 20 : entries <= 100000 ? 7 : entries <= 1000000 ? 8 : 5;
}
/// Batches of a stream: a hundred or so.
inline std::int64_t stream_batch(std::int64_t entries) {
  return std::max<std::int64_t>(entries / 100, 1);
}

/// Those peers that change matrices.
template <space S> void introduce_updaters(const peer_lists<S>& peers, report& out) {
  for (const auto& p : peers.f64)
    if (p.name == "Eigen" || p.name == "GraphBLAS" || p.name == "SciPy")
      out.peer_found(p.name, p.about, !p.contestants.empty());
}

template <space S> bool is_h200(const context<S>& ctx) {
  if constexpr (S == space::device)
    return ctx.properties().name.find("H200") != std::string::npos;
  else
    return false;
}

/// Whether all of Lacuna's lines were right.
inline bool is_right(const std::vector<update_line>& lines) {
  return std::ranges::none_of(lines, [](const update_line& l) {
    return !l.trouble.empty() && (l.plays == role::lacuna || l.plays == role::lacuna_too);
  });
}

template <space S>
void run_update(const rig<S>& r, const host_context& host, const settings& s,
                const std::vector<matrix_source>& sources, const peer_lists<S>& peers,
                report& out) {
  introduce_updaters(peers, out);
  std::vector<update_figures> all;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    if (on.facts().nnz == 0) return out.skip(on.facts().matrix, "it has no entries");
    const auto contestants = update_contestants<T, S>(r.ctx);
    const update_bench<T, S> bench(r, host, on.on_host(), s.seed);
    update_figures f;
    f.facts = on.facts();
    f.bandwidth = bench.bandwidth();
    for (const std::int64_t entries : s.batches.empty() ? usual_batches(S) : s.batches) {
      const int count = s.repeat > 0 ? s.repeat : usual_count(entries);
      f.batches.push_back(bench.batches(entries, count, f.bandwidth, contestants));
      if (!is_right(f.batches.back().lines)) out.found_wrong();
    }
    f.stream = bench.stream(stream_batch(f.facts.nnz), contestants);
    f.rounds = bench.rounds(contestants);
    if (!is_right(f.stream.lines) || !is_right(f.rounds.lines)) out.found_wrong();
    f.products = bench.products();
    out.progress("");
    print_update(f, is_h200(r.ctx), out.figures()["results"]);
    all.push_back(std::move(f));
  });
  print_update_summary(all, out.figures());
}

} // namespace lacuna::bench
