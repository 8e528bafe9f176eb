// lacuna add A B: C = a A + b B on the engine that was asked for.
#include <CLI/CLI.hpp>
#include <cmath>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/op/add.hpp>

namespace lacuna::app {
namespace {

struct add_settings {
  std::string a, b, output;
  double alpha = 1, beta = 1;
  bool transposed = false, general = false;
  io::read_options read;
};

struct add_outcome {
  std::int64_t rows = 0, cols = 0, entries = 0;
  double seconds = 0;
  std::int64_t peak_bytes = 0; ///< all three matrices and scratch, in the engine's memory
};

/// OC: offsets of C. Leaves C in host memory, `c`.
template <class OC, class T, class I, class O, space S>
add_outcome add_on(const context<S>& ctx, const add_settings& s, const csr<T, I, O>& a,
                   const csr<T, I, O>& b, csr<T, I, OC>& c) {
  const auto& a_on_engine = bring_to(ctx, a);
  const auto& b_on_engine = bring_to(ctx, b);
  const auto sum = [&](const auto& left, const auto& right) {
    if constexpr (std::is_same_v<O, OC>)
      return add(ctx, left, right);
    else
      return add_wide(ctx, left, right);
  };
  ctx.synchronize();
  reset_memory_peak(S);
  const stopwatch watch;
  auto result = s.transposed
                    ? sum(scaled(s.alpha, a_on_engine), scaled(s.beta, transposed(b_on_engine)))
                    : sum(scaled(s.alpha, a_on_engine), scaled(s.beta, b_on_engine));
  ctx.synchronize();
  add_outcome measured;
  measured.seconds = watch.seconds();
  measured.peak_bytes = memory(S).peak;
  if constexpr (S == space::host)
    c = std::move(result);
  else
    c = copy_to(host_context(), result);
  measured.rows = c.shape().row;
  measured.cols = c.shape().col;
  measured.entries = c.size();
  return measured;
}

/// What A's and B's files say that C may have kept.
io::file_info common(const add_settings& s, const io::file_info& a, const io::file_info& b) {
  const auto whole = [](const io::file_info& from, double scale) {
    return (from.values == io::field::integer || from.values == io::field::pattern) &&
           scale == std::nearbyint(scale);
  };
  io::file_info result;
  result.values = whole(a, s.alpha) && whole(b, s.beta) ? io::field::integer : io::field::real;
  result.structure = a.structure == b.structure ? a.structure : io::symmetry::general;
  return result;
}

/// Adds and, if asked to, writes C.
template <class OC, class T, class I, class O, space S>
add_outcome add_and_write(const options& o, const context<S>& ctx, const add_settings& s,
                          const csr<T, I, O>& a, const csr<T, I, O>& b,
                          const io::file_info& about) {
  csr<T, I, OC> c;
  const add_outcome measured = add_on<OC>(ctx, s, a, b, c);
  if (!s.output.empty())
    write_like(o, host_context({o.threads}), s.output, std::as_const(c).view(), about, s.general);
  return measured;
}

std::string in_words(const add_settings& s) {
  const auto term = [](double scale, const std::string& name) {
    return scale == 1 ? shown(name) : fmt::format("{} {}", scale, shown(name));
  };
  return term(s.alpha, s.a) + " + " + term(s.beta, s.b) + (s.transposed ? "^T" : "");
}

void report(const options& o, const add_settings& s, const add_outcome& measured,
            const std::string& device, const std::string& where) {
  if (o.json)
    return print_json({{"command", "add"},
                       {"matrix", s.a},
                       {"other", s.b},
                       {"output", s.output.empty() ? json() : json(s.output)},
                       {"alpha", s.alpha},
                       {"beta", s.beta},
                       {"transpose_b", s.transposed},
                       {"rows", measured.rows},
                       {"cols", measured.cols},
                       {"nnz", measured.entries},
                       {"products", 0},
                       {"seconds", measured.seconds},
                       {"peak_bytes", measured.peak_bytes},
                       {"device", device}});
  if (o.quiet && s.output.empty())
    print("{} entries in {}\n", measured.entries, human_seconds(measured.seconds));
  talk(o, s.output)("{}{}: {}; added in {} on {}, {} at most\n", in_words(s),
                    s.output.empty() ? "" : " -> " + shown(s.output),
                    human_shape(measured.rows, measured.cols, measured.entries),
                    human_seconds(measured.seconds), where,
                    human_bytes(static_cast<double>(measured.peak_bytes)));
}

int run_add(const options& o, const add_settings& s) {
  require_output(o, s.output);
  if (s.a == "-" && s.b == "-") throw CLI::ValidationError("B", "standard input is taken by A");
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto left = load_matrix<T>(host, s.a, s.read, shows_progress(o));
      const auto right = load_matrix<T>(host, s.b, s.read, shows_progress(o));
      const io::file_info about = common(s, left.about, right.about);
      const add_outcome measured = naming(s.a + " + " + s.b, [&] {
        return with_like_widths(host, left.matrix, right.matrix, [&](const auto& a, const auto& b) {
          using O = typename std::remove_cvref_t<decltype(a)>::offset_type;
          if (!fits<O>(std::int64_t{a.size()} + b.size()))
            return add_and_write<std::int64_t>(o, ctx, s, a, b, about);
          return add_and_write<O>(o, ctx, s, a, b, about);
        });
      });
      report(o, s, measured, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(exit_done);
    });
  });
}

} // namespace

void add_add(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("add", "C = a A + b B");
  const auto s = std::make_shared<add_settings>();
  add_matrix(*command, s->a);
  command->add_option("B", s->b, "the same; of A's shape, or with --transpose-b of A^T's")
      ->required()
      ->option_text("MATRIX");
  add_output(*command, s->output, "write C there; its extension says how; - is stdout");
  command->add_option("--alpha", s->alpha, "scales A; default: 1")->option_text("a");
  command->add_option("--beta", s->beta, "scales B; default: 1")->option_text("b");
  command->add_flag("--transpose-b", s->transposed, "C = a A + b B^T");
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  add_read_options(*command, s->read);
  command->footer("C has an entry where A or B has one, also where they cancel.\n\n"
                  "Examples:\n"
                  "  lacuna add A.mtx B.mtx -o C.mtx --beta -1\n"
                  "  lacuna add A.mtx A.mtx --transpose-b --alpha 0.5 --beta 0.5 -o symmetric.npz");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_add(o, *s); }; });
}

} // namespace lacuna::app
