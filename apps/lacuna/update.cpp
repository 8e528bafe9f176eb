// lacuna update A: entries of other matrices go into A, or out of it, in batches.
#include <CLI/CLI.hpp>
#include <map>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/io/journal.hpp>

namespace lacuna::app {
namespace {

struct settings {
  std::string a, insert, replace, erase, output, journal;
  std::int64_t batch = 1'000'000, skip = 0;
  int segments = 4;
  bool grow = false, general = false, verify = false;
  bool checkpoint = false, no_sync = false; ///< of the journal
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
  io::journal_recovery recovery;
  std::int64_t journal_batches = 0, log_bytes = 0;
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

/// Without the first `batches` batches of `size`.
void leave_out(std::vector<changes>& all, std::int64_t batches, std::int64_t size) {
  for (changes& c : all) {
    const auto entries = static_cast<std::int64_t>(c.row.size());
    const std::int64_t gone = std::min(batches, (entries + size - 1) / size);
    const std::int64_t first = std::min(gone * size, entries);
    c.row.erase(c.row.begin(), c.row.begin() + first);
    c.col.erase(c.col.begin(), c.col.begin() + first);
    c.value.erase(c.value.begin(), c.value.begin() + first);
    batches -= gone;
  }
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

/// All changes to a matrix, or to one with a journal.
template <class T, class I, class O, space S, class M>
void apply_all(const options& o, const context<S>& ctx, const settings& s, M& m,
               const std::vector<changes>& all, outcome& result) {
  const host_context host({o.threads});
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
      result.given += batch.size();
      ++result.batches;
    }
  }
}

dynamic_csr_options layout_of(const settings& s) {
  dynamic_csr_options layout;
  layout.segments = s.segments;
  return layout;
}
io::journal_options journal_of(const settings& s) {
  return {s.no_sync ? io::journal_sync::never : io::journal_sync::every_batch, layout_of(s), false};
}

template <class T, class I, class O, space S>
csr<T, I, O> rows_on_host(const context<S>& ctx, const dynamic_csr<T, I, O, S>& m) {
  if constexpr (S == space::host)
    return to_csr(ctx, m);
  else
    return copy_to(host_context(), to_csr(ctx, m));
}

/// What became of the matrix, which was `before`, where it is verified.
template <class T, class I, class O, space S>
void conclude(const options& o, const context<S>& ctx, const settings& s,
              const dynamic_csr<T, I, O, S>& m, const csr<T, I, O>& before,
              const std::vector<changes>& all, const io::file_info& about, outcome& result) {
  result.rows = m.shape().row;
  result.cols = m.shape().col;
  result.entries = m.size();
  result.segments = m.segments_max();
  result.compactions = m.compactions();
  result.bytes = m.bytes();
  if (s.output.empty() && !s.verify) return;
  const auto rows = rows_on_host(ctx, m);
  if (s.verify) result.right = is_right(before, all, rows);
  if (!s.output.empty())
    write_like(o, host_context({o.threads}), s.output, rows.view(), about, s.general);
}

/// The same for one with a journal, new or opened.
template <class T, class I, class O, space S>
outcome update_journaled(const options& o, const context<S>& ctx, const settings& s,
                         io::journaled<dynamic_csr<T, I, O, S>>&& m,
                         const std::vector<changes>& all, const io::file_info& about) {
  outcome result;
  result.recovery = m.recovery();
  const auto before = s.verify ? rows_on_host(ctx, m.matrix()) : csr<T, I, O>();
  apply_all<T, I, O>(o, ctx, s, m, all, result);
  if (s.checkpoint) checkpoint(ctx, m);
  result.journal_batches = m.batches();
  result.log_bytes = m.log_bytes();
  conclude(o, ctx, s, m.matrix(), before, all, about, result);
  return result;
}

template <class T, class I, class O, space S>
outcome update_on(const options& o, const context<S>& ctx, const settings& s, const csr<T, I, O>& a,
                  const std::vector<changes>& all, const io::file_info& about) {
  const host_context host({o.threads});
  // Entries that A's file has twice are one: later ones are looked for.
  auto m = to_dynamic_csr(ctx, bring_to(ctx, merge_duplicates(host, a)), layout_of(s));
  if (!s.journal.empty())
    return update_journaled(
        o, ctx, s, io::create_journal(ctx, s.journal, std::move(m), journal_of(s)), all, about);
  outcome result;
  apply_all<T, I, O>(o, ctx, s, m, all, result);
  conclude(o, ctx, s, m, a, all, about, result);
  return result;
}

/// With the matrix that the journal has.
template <class T, space S>
outcome continue_on(const options& o, const context<S>& ctx, const settings& s,
                    const std::vector<changes>& all) {
  const io::journal_facts facts = io::read_journal_facts(s.journal);
  const auto with_widths = [&]<class I, class O>(I, O) {
    using matrix = dynamic_csr<T, I, O, S>;
    return update_journaled(o, ctx, s, io::open_journal<matrix>(ctx, s.journal, journal_of(s)), all,
                            {});
  };
  if (facts.index_bytes == 4 && facts.offset_bytes == 4)
    return with_widths(std::int32_t{}, std::int32_t{});
  if (facts.index_bytes == 4) return with_widths(std::int32_t{}, std::int64_t{});
  return with_widths(std::int64_t{}, std::int64_t{});
}

void report(const options& o, const settings& s, const outcome& r, const std::string& device,
            const std::string& where) {
  const double per_second = r.seconds > 0 ? static_cast<double>(r.given) / r.seconds : 0;
  const std::int64_t recovered = r.recovery.checkpoint_batches + r.recovery.replayed;
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
                       {"journal", s.journal.empty() ? json() : json(s.journal)},
                       {"recovered_batches", recovered},
                       {"journal_batches", r.journal_batches},
                       {"cut_bytes", r.recovery.cut_bytes},
                       {"log_bytes", r.log_bytes},
                       {"device", device}});
  if (o.quiet && s.output.empty())
    print("{} entries, {} inserted, {} replaced, {} erased\n", r.entries, r.counts.inserted,
          r.counts.changed, r.counts.erased);
  const talk say(o, s.output);
  say("{}{}: {}\n", shown(s.a.empty() ? s.journal : s.a),
      s.output.empty() ? "" : " -> " + shown(s.output), human_shape(r.rows, r.cols, r.entries));
  if (r.batches > 0 || s.journal.empty()) {
    say("  {} inserted, {} replaced, {} erased, in {} {} on {}\n", human_count(r.counts.inserted),
        human_count(r.counts.changed), human_count(r.counts.erased), r.batches,
        r.batches == 1 ? "batch" : "batches", where);
    say("  {}, {} updates/s; rows have up to {} segments, {} compactions, {}\n",
        human_seconds(r.seconds), human_count(static_cast<std::int64_t>(per_second)), r.segments,
        r.compactions, human_bytes(static_cast<double>(r.bytes)));
  }
  if (!s.journal.empty()) {
    say("  journal {}: {} batches, {} of them recovered ({} from the log); a log of {}\n",
        shown(s.journal), r.journal_batches, recovered, r.recovery.replayed,
        human_bytes(static_cast<double>(r.log_bytes)));
    if (r.recovery.cut_bytes > 0)
      say("  {} bytes of a batch that was not complete were cut off its end\n",
          r.recovery.cut_bytes);
  }
  if (s.verify && (!o.quiet || !r.right))
    say("  {}\n", r.right ? "verified: a map holds the same" : "WRONG: a map holds other entries");
}

/// Throws a usage error. Whether the journal is there decides who brings the matrix.
void require_matrix(const settings& s) {
  const bool there = !s.journal.empty() && io::has_journal(s.journal);
  if (there && !s.a.empty())
    throw CLI::ValidationError("A", "'" + s.journal +
                                        "' has a matrix already: leave A out to go on with it");
  if (!there && s.a.empty() && !s.journal.empty())
    throw CLI::ValidationError("--journal", "there is no journal in '" + s.journal +
                                                "' yet: A is the matrix to begin with");
  if (s.a.empty() && !there) throw CLI::RequiredError("A");
  if (s.journal.empty() && (s.checkpoint || s.no_sync)) throw CLI::RequiredError("--journal");
  if (s.journal.empty() && s.insert.empty() && s.replace.empty() && s.erase.empty())
    throw CLI::RequiredError("One of --insert, --replace and --erase");
}

int run(const options& o, const settings& s) {
  require_output(o, s.output);
  require_matrix(s);
  precision values = o.values;
  if (s.a.empty()) // the journal's
    values = io::read_journal_facts(s.journal).value_bytes == 4 ? precision::f32 : precision::f64;
  return with_values(values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      io::file_matrix<T> a;
      if (!s.a.empty()) a = load_matrix<T>(host, s.a, s.read, shows_progress(o));
      std::vector<changes> all;
      for (const auto& [what, name] : {std::pair{change::insert, s.insert},
                                       {change::replace, s.replace},
                                       {change::erase, s.erase}})
        if (!name.empty()) all.push_back(load_changes<T>(o, s, host, what, name));
      leave_out(all, s.skip, s.batch);
      io::file_info about = a.about;
      about.structure = io::symmetry::general;
      const outcome result = naming(s.a.empty() ? s.journal : s.a, [&] {
        if (s.a.empty()) return continue_on<T>(o, ctx, s, all);
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
  add_matrix(*command, s->a)->required(false);
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
  command
      ->add_option("--journal", s->journal,
                   "keep the matrix and a log of its batches in this folder; later without A")
      ->option_text("DIR");
  command->add_flag("--checkpoint", s->checkpoint,
                    "at the end, write the journal's matrix and begin a new log");
  command->add_flag("--no-sync", s->no_sync,
                    "do not wait until the disk has a batch of the journal");
  command->add_option("--skip", s->skip, "leave out the first N batches: those that went in before")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--grow", s->grow, "rows and columns that only E has are added");
  add_output(*command, s->output, "write the matrix there; its extension says how; - is stdout");
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  command->add_flag("--verify", s->verify, "do the same with a map, and compare");
  add_read_options(*command, s->read);
  command->footer(
      "Inserts come first, then replacements, then erasures. Times are of the batches\n"
      "alone, which are in the engine's memory by then.\n\n"
      "A journal survives a kill at any time: without A the matrix is opened as it was\n"
      "after the last complete batch, and batches go on from there, or none.\n\n"
      "Examples:\n"
      "  lacuna update A.mtx --insert new.mtx --batch 10000 -o B.mtx\n"
      "  lacuna update gen:rmat:scale=16 --insert gen:rmat:scale=16,seed=2 --verify\n"
      "  lacuna update A.mtx --insert new.mtx --journal graph.journal\n"
      "  lacuna update --journal graph.journal --erase old.mtx --checkpoint");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run(o, *s); }; });
}

} // namespace lacuna::app
