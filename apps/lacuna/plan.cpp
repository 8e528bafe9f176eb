// lacuna plan A: the storage and kernel for products with A, and why.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/bandwidth.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include "lacuna/kernel_name.hpp"
#include <lacuna/op/multiply.hpp>
#include <lacuna/plan/statistics.hpp>

namespace lacuna::app {
namespace {

struct settings {
  std::string matrix;
  std::int64_t multiplies = 1000;
  io::read_options read;
};

struct candidate {
  std::string format;
  double bytes;       ///< of the matrix
  double seconds = 0; ///< predicted, one product
  bool multiplies;    ///< whether this release has a product for it
};

struct plan_made {
  matrix_statistics s;
  std::string kernel, explain;
  std::vector<candidate> candidates; ///< the fastest first
  std::vector<std::string> reasons;
  double bandwidth = 0; ///< bytes a second
};

/// The memory each format moves in a product, and the time that takes at the bandwidth.
std::vector<candidate> predict(const matrix_statistics& s, double value_bytes, double index_bytes,
                               double offset_bytes, double bandwidth) {
  const auto rows = static_cast<double>(s.rows), cols = static_cast<double>(s.cols),
             nnz = static_cast<double>(s.entries);
  const double entry = value_bytes + index_bytes;
  std::vector<candidate> all = {
      {"csr", nnz * entry + (rows + 1) * offset_bytes, 0, true},
      {"coo", nnz * (entry + index_bytes), 0, false},
      {"ell", rows * static_cast<double>(s.row_length.longest) * entry, 0, false},
      {"dense", rows * cols * value_bytes, 0, false}};
  for (candidate& c : all) c.seconds = (c.bytes + (rows + cols) * value_bytes) / bandwidth;
  std::ranges::stable_sort(all, {}, &candidate::seconds);
  return all;
}

/// The statistics in sentences.
std::vector<std::string> sentences(const matrix_statistics& s) {
  std::vector<std::string> text;
  const auto& rows = s.row_length;
  if (s.entries == 0) return {"there are no entries: every format is as good"};
  text.push_back(
      fmt::format("rows have {:.1f} entries on average, {} at least and {} at most{}", rows.mean,
                  s.shortest_row, rows.longest,
                  rows.empty == 0 ? "" : fmt::format("; {} are empty", human_count(rows.empty))));
  if (rows.deviation <= 0.2 * rows.mean)
    text.push_back("they are alike, so equal numbers of rows are equal work");
  else if (static_cast<double>(rows.longest) > 100 * rows.mean)
    text.push_back("a few are very long, so rows must be shared between workers");
  else
    text.push_back("they differ, so work is dealt out by entries");
  const double padding = static_cast<double>(s.rows) * static_cast<double>(rows.longest) /
                         static_cast<double>(s.entries);
  text.push_back(
      fmt::format("padding all rows to the longest would store {:.3g} times the entries", padding));
  text.push_back(fmt::format(
      "blocks of 128 x 128 that are occupied are {:.2g} % full: {}", 100 * s.block_fill(),
      s.block_fill() < 0.5 ? "too little for dense blocks" : "dense blocks would pay"));
  return text;
}

template <class T, class I, class O, space S>
plan_made make_plan(const context<S>& ctx, const csr<T, I, O>& a, int threads) {
  plan_made made;
  made.s = statistics(host_context({threads}), a);
  const auto& there = bring_to(ctx, a);
  const array<T, S> x(ctx, a.shape().col);
  const array<T, S> y(ctx, a.shape().row);
  const auto info = multiply_inspect(ctx, there, x, y);
  made.kernel = kernel_name<T, I, O, S>(info);
  made.explain = info.explain();
  made.bandwidth = measure_bandwidth(ctx);
  made.candidates = predict(made.s, sizeof(T), sizeof(I), sizeof(O), made.bandwidth);
  made.reasons = sentences(made.s);
  made.reasons.push_back(made.explain);
  if (made.candidates.front().format != "csr")
    made.reasons.push_back(fmt::format("{} would move fewer bytes, but this release multiplies csr "
                                       "only",
                                       made.candidates.front().format));
  else
    made.reasons.emplace_back("csr moves the fewest bytes a product");
  return made;
}

void report(const options& o, const settings& s, const plan_made& made, const std::string& device,
            const std::string& where) {
  const auto chosen = std::ranges::find(made.candidates, "csr", &candidate::format);
  const double each = chosen->bytes / std::max<double>(1, static_cast<double>(made.s.entries));
  if (o.json) {
    json candidates = json::array();
    for (const candidate& c : made.candidates)
      candidates.push_back({{"format", c.format},
                            {"bytes", json_size(c.bytes)},
                            {"predicted_seconds", c.seconds},
                            {"multiplies", c.multiplies}});
    print_json({{"command", "plan"},
                {"matrix", s.matrix},
                {"format", chosen->format},
                {"kernel", made.kernel},
                {"device", device},
                {"bytes", json_size(chosen->bytes)},
                {"bytes_per_entry", each},
                {"multiplies", s.multiplies},
                {"predicted_seconds", chosen->seconds * static_cast<double>(s.multiplies)},
                {"copy_gbytes_per_s", made.bandwidth * 1e-9},
                {"reasons", made.reasons},
                {"candidates", candidates}});
    return;
  }
  if (o.quiet) {
    fmt::print("{} {} on {}\n", chosen->format, made.kernel, device);
    return;
  }
  fmt::print("{}: {}\n", s.matrix, human_shape(made.s.rows, made.s.cols, made.s.entries));
  fmt::print("  take csr, {} ({:.1f} bytes an entry), kernel {}, on {}\n",
             human_bytes(chosen->bytes), each, made.kernel, where);
  fmt::print("  because\n");
  for (const std::string& reason : made.reasons) fmt::print("    - {}\n", reason);
  fmt::print("  predicted from bytes moved at {:.1f} GB/s, measured now; {} product{}\n",
             made.bandwidth * 1e-9, s.multiplies, s.multiplies == 1 ? "" : "s");
  for (const candidate& c : made.candidates)
    fmt::print("    {:<6} {:>9}  {:>9} each  {:>9} in all{}\n", c.format, human_bytes(c.bytes),
               human_seconds(c.seconds),
               human_seconds(c.seconds * static_cast<double>(s.multiplies)),
               c.multiplies ? "" : "  (no product in this release)");
}

int run(const options& o, const settings& s) {
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      const plan_made made =
          std::visit([&](const auto& a) { return make_plan(ctx, a, o.threads); }, loaded.matrix);
      report(o, s, made, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(exit_done);
    });
  });
}

} // namespace

void add_plan(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("plan", "the storage and kernel for products, with reasons");
  const auto s = std::make_shared<settings>();
  add_matrix(*command, s->matrix);
  command->add_option("--multiplies", s->multiplies, "products to plan for; default: 1000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  add_read_options(*command, s->read);
  command->footer(
      "Times are predictions: the bytes that must move, at the bandwidth measured now.\n\n"
      "Examples:\n"
      "  lacuna plan gen:circuit:n=1000000\n"
      "  lacuna plan A.mtx --multiplies 50000 --json");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run(o, *s); }; });
}

} // namespace lacuna::app
