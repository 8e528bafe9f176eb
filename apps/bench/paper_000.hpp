// lacuna-bench paper:000: the tables and figures of King et al. (2016), whose dynamic CSR this is,
// beside what this machine gives.
#pragma once

#include <lacuna/format/dynamic_csr_parts.hpp>

#include "bench/update/suite.hpp"

namespace lacuna::bench {

namespace paper_000 {

/// Table III, in seconds.
struct conversions {
  double copy = 0;
  double coo_to_csr = 0, coo_to_dynamic = 0, coo_to_hyb = 0;
  double csr_to_dynamic = 0, csr_to_hyb = 0, dynamic_to_csr = 0;
};
/// Table IV, in seconds; the rest of it is in product_figures.
struct overheads {
  std::int64_t updates = 0;
  double hyb_sort = 0, dynamic_update = 0, hyb_update = 0;
};
/// Figure 5, in seconds: a product and a batch of 0.2 % with rows in so many parts.
struct part_figures {
  int parts = 0, devices = 0;
  double product = 0, insert = 0;
};
struct matrix_figures {
  measured_problem facts;
  std::size_t hyb_bytes = 0, csr_bytes = 0;
  std::array<std::size_t, 3> dynamic_bytes{}; ///< of 2, 3 and 4 segments
  conversions converted;
  overheads costs;
  stream_figures stream;   ///< figure 3, below
  round_figures rounds;    ///< figure 3, above
  product_figures product; ///< figure 4
  std::vector<part_figures> parts;
};

/// Prints the tables, and adds "paper" to the JSON object.
void print(const std::vector<matrix_figures>& all, bool device, nlohmann::ordered_json& out);

template <class T, space S>
void measure_memory(const update_bench<T, S>& bench, const context<S>& ctx, matrix_figures& f) {
  const auto a = bench.matrix_view();
  f.csr_bytes = bench.on_host().bytes();
  f.hyb_bytes = to_dynamic_hyb<T>(ctx, a, mean_row(a)).bytes();
  for (int k = 2; k <= 4; ++k) {
    dynamic_csr_options options;
    options.segments = k;
    f.dynamic_bytes[static_cast<std::size_t>(k - 2)] = to_dynamic_csr(ctx, a, options).bytes();
  }
}

/// Of coordinates whose order is stated. HYB is made by way of CSR.
template <class T, space S>
conversions measure_conversions(const update_bench<T, S>& bench, const context<S>& ctx) {
  const auto a = bench.matrix_view();
  const auto triplets = to_coo(ctx, a);
  const auto dynamic = to_dynamic_csr(ctx, a);
  const std::int64_t width = mean_row(a);
  csr<T, index_t, offset_t, S> c;
  dynamic_csr<T, index_t, offset_t, S> d;
  dynamic_hyb<T, S> h;
  const auto drop = [&] { c = {}, d = {}, h = {}; };
  timed_call copying([&] { c = copy_to(ctx, a); }, drop);
  timed_call coo_csr([&] { c = to_csr(ctx, triplets); }, drop);
  timed_call coo_dynamic([&] { d = to_dynamic_csr(ctx, to_csr(ctx, triplets)); }, drop);
  timed_call coo_hyb(
      [&] {
        c = to_csr(ctx, triplets);
        h = to_dynamic_hyb<T>(ctx, std::as_const(c).view(), width);
      },
      drop);
  timed_call csr_dynamic([&] { d = to_dynamic_csr(ctx, a); }, drop);
  timed_call csr_hyb([&] { h = to_dynamic_hyb<T>(ctx, a, width); }, drop);
  timed_call dynamic_csr([&] { c = to_csr(ctx, dynamic); }, drop);
  const auto t = bench.in_turns(
      {&copying, &coo_csr, &coo_dynamic, &coo_hyb, &csr_dynamic, &csr_hyb, &dynamic_csr});
  return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
}

template <class T, space S>
overheads measure_overheads(const update_bench<T, S>& bench, const context<S>& ctx,
                            const host_context& host, std::uint64_t seed) {
  const auto a = bench.matrix_view();
  overheads f{std::min<std::int64_t>(1000, a.size())};
  const auto batches = bench.put(make_batches<T>(host, bench.on_host().view(), f.updates, 9, seed));
  auto m = to_dynamic_csr(ctx, a);
  auto h = to_dynamic_hyb<T>(ctx, a, mean_row(a));
  std::vector<double> dynamic, hyb, sort;
  for (const auto& b : batches) {
    dynamic.push_back(bench.timed([&] { insert(ctx, m, b.view()); }));
    hyb.push_back(bench.timed([&] { insert_batch<T>(ctx, h, b.view()); }));
    sort.push_back(bench.timed([&] { sort_rest<T>(ctx, h); }));
  }
  f.dynamic_update = app::median(dynamic);
  f.hyb_update = app::median(hyb);
  f.hyb_sort = app::median(sort);
  return f;
}

/// A context for each part: parts are dealt out to the devices there are. On a host all are in one
/// place.
template <space S> std::vector<context<S>> contexts_of_parts(const context<S>& ctx, int parts) {
  if constexpr (S == space::device) {
    std::vector<int> devices;
    for (int p = 0; p < parts; ++p) devices.push_back((ctx.device() + p) % device_count());
    return contexts_on(devices);
  } else {
    return std::vector<context<S>>(static_cast<std::size_t>(parts), ctx);
  }
}

template <class T, space S>
std::vector<part_figures> measure_parts(const update_bench<T, S>& bench, const context<S>& ctx,
                                        const host_context& host, std::uint64_t seed) {
  const auto a = bench.matrix_view();
  const auto batches = bench.put(make_batches<T>(
      host, bench.on_host().view(), std::max<std::int64_t>(a.size() / 500, 1), 5, seed));
  const array<T, S> x = bench.vector_of(a.shape().col);
  array<T, S> y(ctx, a.shape().row);
  std::vector<part_figures> result;
  for (const int count : {1, 2, 4, 8}) {
    part_figures f{count, S == space::device ? std::min(count, device_count()) : 1};
    auto m = to_dynamic_csr_parts(ctx, a, contexts_of_parts(ctx, count));
    timed_call product([&] { lacuna::multiply(ctx, m, x, y); });
    f.product = bench.median_time(product, 7);
    std::vector<double> inserts;
    for (const auto& b : batches) inserts.push_back(bench.timed([&] { insert(ctx, m, b.view()); }));
    f.insert = app::median(inserts);
    result.push_back(f);
  }
  return result;
}

/// Those of figure 3.
template <class T, space S>
std::vector<update_contestant<T, S>> contestants(const context<S>& ctx) {
  auto result = update_contestants<T, S>(ctx);
  std::erase_if(result, [](const update_contestant<T, S>& c) {
    const std::string_view n = c.name;
    return n != ways::dynamic && n != ways::appending && n != ways::hybrid && n != ways::sum &&
           n != ways::triplets && n != ways::merging && n != ways::rebuilding;
  });
  return result;
}

} // namespace paper_000

template <space S>
void run_paper_000(const rig<S>& r, const host_context& host, const settings& s,
                   const std::vector<matrix_source>& sources, report& out) {
  std::vector<paper_000::matrix_figures> all;
  for_each_matrix(r, host, s, sources, out, [&]<class T>(const stage<T, S>& on) {
    if (on.facts().nnz == 0) return out.skip(on.facts().matrix, "it has no entries");
    const update_bench<T, S> bench(r, host, on.on_host(), s.seed);
    const auto contestants = paper_000::contestants<T, S>(r.ctx);
    paper_000::matrix_figures f;
    f.facts = on.facts();
    paper_000::measure_memory(bench, r.ctx, f);
    f.converted = paper_000::measure_conversions(bench, r.ctx);
    f.costs = paper_000::measure_overheads(bench, r.ctx, host, s.seed);
    f.stream = bench.stream(stream_batch(f.facts.nnz), contestants);
    f.rounds = bench.rounds(contestants);
    if (!is_right(f.stream.lines) || !is_right(f.rounds.lines)) out.found_wrong();
    f.product = bench.products();
    f.parts = paper_000::measure_parts(bench, r.ctx, host, s.seed);
    all.push_back(std::move(f));
  });
  out.progress("");
  paper_000::print(all, S == space::device, out.figures());
}

} // namespace lacuna::bench
