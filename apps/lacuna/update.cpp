// lacuna update A: entries of other matrices go into A, or out of it, in batches.
#include <CLI/CLI.hpp>
#include <map>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/op/update.hpp>

namespace lacuna::app {
namespace {

struct settings {
  std::string a, insert, replace, erase, output;
  std::int64_t batch = 1'000'000;
  int segments = 4;
  bool grow = false, general = false, verify = false;
  io::read_options read;
};

/// What is done with the entries of a file.
enum class change { insert, replace, erase };

/// Entries of a file, row by row, whatever widths it was read with.
struct changes {
  change what = change::insert;
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int64_t> row, col;
  std::vector<double> value;
};

struct outcome {
  std::int64_t rows = 0, cols = 0, entries = 0, batches = 0;
  std::int64_t given = 0; ///< entries of all files
  update_counts counts;
  int segments = 0;
  std::int64_t compactions = 0;
  std::size_t bytes = 0;
  double seconds = 0; ///< of all batches, which were on the device already
  bool right = true;
};

template <class T>
changes load_changes(const options& o, const settings& s, const host_context& host, change what,
                     const std::string& name) {
  changes result{what, 0, 0, {}, {}, {}};
  const auto loaded = load_matrix<T>(host, name, s.read, shows_progress(o));
  std::visit(
      [&](const auto& e) {
        const auto entries = to_coo(host, e);
        result.rows = e.shape().row;
        result.cols = e.shape().col;
        result.row.assign(entries.rowind().begin(), entries.rowind().end());
        result.col.assign(entries.colind().begin(), entries.colind().end());
        result.value.assign(entries.values().begin(), entries.values().end());
      },
      loaded.matrix);
  return result;
}

/// Entries [first, last) as a batch for a matrix with columns of type I.
template <class T, class I, class O>
coo<T, I, O> batch_of(const host_context& host, const changes& from, std::int64_t first,
                      std::int64_t last) {
  coo<T, I, O> batch(host, lacuna::index<I>(from.rows, from.cols), static_cast<O>(last - first));
  for (std::int64_t k = first; k < last; ++k) {
    batch.rowind()[k - first] = static_cast<I>(from.row[k]);
    batch.colind()[k - first] = static_cast<I>(from.col[k]);
    batch.values()[k - first] = static_cast<T>(from.value[k]);
  }
  return batch;
}

/// The same by a map, entry after entry.
template <class T, class I, class O>
bool is_right(const csr<T, I, O>& a, const std::vector<changes>& all, const csr<T, I, O>& result) {
  std::map<std::pair<std::int64_t, std::int64_t>, T> model;
  for (std::int64_t row = 0; row < a.shape().row; ++row)
    for (O k = a.rowptr()[row]; k < a.rowptr()[row + 1]; ++k)
      model[{row, a.colind()[k]}] += a.values()[k];
  for (const changes& c : all)
    for (std::size_t k = 0; k < c.row.size(); ++k) {
      const std::pair at{c.row[k], c.col[k]};
      if (c.what == change::erase)
        model.erase(at);
      else if (const auto [there, is_new] = model.try_emplace(at, static_cast<T>(c.value[k]));
               !is_new)
        there->second = static_cast<T>(c.value[k]) + (c.what == change::insert ? there->second : 0);
    }
  if (static_cast<std::int64_t>(model.size()) != result.size()) return false;
  auto expected = model.begin();
  for (std::int64_t row = 0; row < result.shape().row; ++row)
    for (O k = result.rowptr()[row]; k < result.rowptr()[row + 1]; ++k, ++expected)
      if (expected->first != std::pair{row, std::int64_t{result.colind()[k]}} ||
          !(expected->second == result.values()[k] || expected->second != expected->second))
        return false;
  return true;
}

template <class T, class I, class O, space S>
outcome update_on(const options& o, const context<S>& ctx, const settings& s, const csr<T, I, O>& a,
                  const std::vector<changes>& all, const io::file_info& about) {
  const host_context host({o.threads});
  dynamic_csr_options layout;
  layout.segments = s.segments;
  // Entries that A's file has twice are one: later ones are looked for.
  auto m = to_dynamic_csr(ctx, bring_to(ctx, merge_duplicates(host, a)), layout);
  outcome result;
  for (const changes& c : all) {
    const auto entries = static_cast<std::int64_t>(c.row.size());
    for (std::int64_t first = 0; first < entries; first += s.batch) {
      const auto batch = batch_of<T, I, O>(host, c, first, std::min(first + s.batch, entries));
      const auto& on_engine = bring_to(ctx, batch);
      ctx.synchronize();
      const stopwatch watch;
      const update_counts counts =
          c.what == change::erase
              ? erase(ctx, m, on_engine.view())
              : insert(ctx, m, on_engine.view(),
                       {c.what == change::insert ? existing::add : existing::replace,
                        s.grow ? outside::grow : outside::error});
      ctx.synchronize();
      result.seconds += watch.seconds();
      result.counts.inserted += counts.inserted;
      result.counts.changed += counts.changed;
      result.counts.erased += counts.erased;
      ++result.batches;
    }
    result.given += entries;
  }
  result.rows = m.shape().row;
  result.cols = m.shape().col;
  result.entries = m.size();
  result.segments = m.segments_max();
  result.compactions = m.compactions();
  result.bytes = m.bytes();
  if (s.output.empty() && !s.verify) return result;
  auto rows = to_csr(ctx, m);
  const auto& c = [&]() -> decltype(auto) {
    if constexpr (S == space::host)
      return (rows);
    else
      return copy_to(host, rows);
  }();
  if (s.verify) result.right = is_right(a, all, c);
  if (!s.output.empty()) write_like(o, host, s.output, std::as_const(c).view(), about, s.general);
  return result;
}

void report(const options& o, const settings& s, const outcome& r, const std::string& device,
            const std::string& where) {
  const double per_second = r.seconds > 0 ? static_cast<double>(r.given) / r.seconds : 0;
  if (o.json)
    return print_json({{"command", "update"},
                       {"matrix", s.a},
                       {"output", s.output.empty() ? json() : json(s.output)},
                       {"rows", r.rows},
                       {"cols", r.cols},
                       {"inserted", r.counts.inserted},
                       {"replaced", r.counts.changed},
                       {"erased", r.counts.erased},
                       {"nnz", r.entries},
                       {"batches", r.batches},
                       {"segments_max", r.segments},
                       {"compactions", r.compactions},
                       {"bytes", r.bytes},
                       {"seconds", r.seconds},
                       {"updates_per_s", per_second},
                       {"verified", s.verify ? json(r.right) : json()},
                       {"device", device}});
  if (o.quiet && s.output.empty())
    print("{} entries, {} inserted, {} replaced, {} erased\n", r.entries, r.counts.inserted,
          r.counts.changed, r.counts.erased);
  const talk say(o, s.output);
  say("{}{}: {}\n", shown(s.a), s.output.empty() ? "" : " -> " + shown(s.output),
      human_shape(r.rows, r.cols, r.entries));
  say("  {} inserted, {} replaced, {} erased, in {} {} on {}\n", human_count(r.counts.inserted),
      human_count(r.counts.changed), human_count(r.counts.erased), r.batches,
      r.batches == 1 ? "batch" : "batches", where);
  say("  {}, {} updates/s; rows have up to {} segments, {} compactions, {}\n",
      human_seconds(r.seconds), human_count(static_cast<std::int64_t>(per_second)), r.segments,
      r.compactions, human_bytes(static_cast<double>(r.bytes)));
  if (s.verify && (!o.quiet || !r.right))
    say("  {}\n", r.right ? "verified: a map holds the same" : "WRONG: a map holds other entries");
}

int run(const options& o, const settings& s) {
  require_output(o, s.output);
  if (s.insert.empty() && s.replace.empty() && s.erase.empty())
    throw CLI::RequiredError("One of --insert, --replace and --erase");
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto a = load_matrix<T>(host, s.a, s.read, shows_progress(o));
      std::vector<changes> all;
      for (const auto& [what, name] : {std::pair{change::insert, s.insert},
                                       {change::replace, s.replace},
                                       {change::erase, s.erase}})
        if (!name.empty()) all.push_back(load_changes<T>(o, s, host, what, name));
      io::file_info about = a.about;
      about.structure = io::symmetry::general;
      const outcome result = naming(s.a, [&] {
        return std::visit([&](const auto& m) { return update_on(o, ctx, s, m, all, about); },
                          a.matrix);
      });
      report(o, s, result, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(result.right ? exit_done : exit_failed);
    });
  });
}

} // namespace

void add_update(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("update", "insert, replace and erase entries, in batches");
  const auto s = std::make_shared<settings>();
  add_matrix(*command, s->a);
  const auto entries = [&](const char* name, std::string& to, const char* help) {
    command->add_option(name, to, help)->option_text("E");
  };
  entries("--insert", s->insert, "add the entries of the matrix E: new ones go in");
  entries("--replace", s->replace, "the same, but an entry that is there gets E's value");
  entries("--erase", s->erase, "take entries out wherever E has one");
  command->add_option("--batch", s->batch, "entries per batch; default: 1000000")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--segments", s->segments, "segments that a row may have; default: 4")
      ->option_text("K")
      ->check(CLI::Range(1, 64));
  command->add_flag("--grow", s->grow, "rows and columns that only E has are added");
  add_output(*command, s->output, "write the matrix there; its extension says how; - is stdout");
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  command->add_flag("--verify", s->verify, "do the same with a map, and compare");
  add_read_options(*command, s->read);
  command->footer("Inserts come first, then replacements, then erasures. Times are of the batches\n"
                  "alone, which are in the engine's memory by then.\n\n"
                  "Examples:\n"
                  "  lacuna update A.mtx --insert new.mtx --batch 10000 -o B.mtx\n"
                  "  lacuna update gen:rmat:scale=16 --insert gen:rmat:scale=16,seed=2 --verify");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run(o, *s); }; });
}

} // namespace lacuna::app
