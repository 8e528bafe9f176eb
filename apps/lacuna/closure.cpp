// lacuna closure A: which vertices of A's graph reach which, by repeated boolean products.
#include <CLI/CLI.hpp>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/progress.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include "reference/reference.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/op/closure.hpp>

namespace lacuna::app {
namespace {

struct closure_settings {
  std::string a, output;
  bool reflexive = false, verify = false;
  std::uint64_t memory_limit = 0;
  io::read_options read;
};

struct closure_outcome {
  std::int64_t rows = 0, edges = 0, entries = 0, rounds = 0;
  double seconds = 0;
  std::int64_t peak_bytes = 0; ///< A, R and scratch, in the engine's memory
  bool right = true;
};

/// Whether R has the entries that searches find.
template <class T, class I>
bool is_closure(const csr<T, I, std::int64_t>& a, const csr<T, I, std::int64_t>& r,
                bool reflexive) {
  const reference::triplets found = reference::entries(r.view());
  const reference::triplets want = reference::closure(a.view(), reflexive);
  return found == want;
}

/// Offsets of R have 64 bits: nothing is too large but memory.
template <class T, class I, space S>
closure_outcome close_on(const options& o, const context<S>& ctx, const closure_settings& s,
                         const csr<T, I, std::int64_t>& a) {
  const host_context host({o.threads});
  const auto& edges = bring_to(ctx, a);
  closure_outcome result;
  progress_bar bar("closing " + s.a, progress_bar::unit::entries, shows_progress(o));
  const auto tell = bar.callback();
  closure_options how{s.reflexive, static_cast<std::size_t>(s.memory_limit), {}};
  how.progress = [&](const closure_progress& p) {
    result.rounds = p.rounds;
    bar.relabel(fmt::format("closing {}: round {}, {} new,", s.a, p.rounds, human_count(p.found)));
    if (tell) tell(p.entries, 0);
  };
  ctx.synchronize();
  reset_memory_peak(S);
  const stopwatch watch;
  const auto reached = closure(ctx, edges, how);
  ctx.synchronize();
  result.seconds = watch.seconds();
  result.peak_bytes = memory(S).peak;
  result.rows = a.shape().row;
  result.edges = a.size();
  result.entries = reached.size();
  if (s.output.empty() && !s.verify) return result;
  auto rows = to_csr(ctx, reached);
  const auto& r = [&]() -> decltype(auto) {
    if constexpr (S == space::host)
      return (rows);
    else
      return copy_to(host, rows);
  }();
  if (s.verify) result.right = is_closure(a, r, s.reflexive);
  io::file_info about;
  about.values = io::field::pattern;
  if (!s.output.empty()) write_like(o, host, s.output, std::as_const(r).view(), about, false);
  return result;
}

void report(const options& o, const closure_settings& s, const closure_outcome& r,
            const std::string& device, const std::string& where) {
  if (o.json)
    return print_json({{"command", "closure"},
                       {"matrix", s.a},
                       {"output", s.output.empty() ? json() : json(s.output)},
                       {"reflexive", s.reflexive},
                       {"rows", r.rows},
                       {"cols", r.rows},
                       {"edges", r.edges},
                       {"nnz", r.entries},
                       {"rounds", r.rounds},
                       {"seconds", r.seconds},
                       {"peak_bytes", r.peak_bytes},
                       {"verified", s.verify ? json(r.right) : json()},
                       {"device", device}});
  if (o.quiet && s.output.empty()) print("{} entries after {} rounds\n", r.entries, r.rounds);
  const talk say(o, s.output);
  say("{}{}: {} edges reach {}\n", shown(s.a), s.output.empty() ? "" : " -> " + shown(s.output),
      human_count(r.edges), human_shape(r.rows, r.rows, r.entries));
  say("  {} {} in {} on {}, {} at most\n", r.rounds, r.rounds == 1 ? "round" : "rounds",
      human_seconds(r.seconds), where, human_bytes(static_cast<double>(r.peak_bytes)));
  if (s.verify && (!o.quiet || !r.right))
    say("  {}\n", r.right ? "verified: a search from every vertex finds the same"
                          : "WRONG: a search from every vertex finds other entries");
}

int run_closure(const options& o, const closure_settings& s) {
  require_output(o, s.output);
  return on_engine(o, [&](const auto& ctx) {
    const host_context host({o.threads});
    // Values do not matter: the smaller ones.
    const auto a = load_matrix<float>(host, s.a, s.read, shows_progress(o));
    const closure_outcome result = naming(s.a, [&] {
      return std::visit(
          [&]<class I, class O>(const csr<float, I, O>& m) {
            return close_on(o, ctx, s, cast<float, I, std::int64_t>(host, m));
          },
          a.matrix);
    });
    report(o, s, result, engine_name(ctx), engine_text(ctx));
    return static_cast<int>(result.right ? exit_done : exit_failed);
  });
}

} // namespace

void add_closure(CLI::App& cli, const options& o, action& chosen) {
  auto* command =
      cli.add_subcommand("closure", "the transitive closure of A's graph: what reaches what");
  const auto s = std::make_shared<closure_settings>();
  add_matrix(*command, s->a);
  add_output(*command, s->output, "write R there; its extension says how; - is stdout");
  command->add_flag("--reflexive", s->reflexive, "every vertex reaches itself, edges or not");
  command
      ->add_option("--memory-limit", s->memory_limit,
                   "bytes of the engine's memory for R and products; else exit code 4")
      ->transform(CLI::AsSizeValue(true))
      ->option_text("SIZE");
  command->add_flag("--verify", s->verify, "compare with a search from every vertex");
  add_read_options(*command, s->read);
  command->footer(
      "An entry of A, whatever its value, is an edge from its row to its column; A is square.\n"
      "R has an entry where a path of one or more edges leads; it may be dense. Vertices that\n"
      "reach each other are one vertex at first. A round multiplies what the last one found\n"
      "by the edges between these; there are as many as the longest of the shortest paths\n"
      "has edges, and up to two more.\n\n"
      "Examples:\n"
      "  lacuna closure gen:rmat:scale=10 --verify\n"
      "  lacuna closure calls.mtx --memory-limit 2G -o reached.mtx --json");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_closure(o, *s); }; });
}

} // namespace lacuna::app
