// lacuna multiply A B: the sparse product C = A B on the engine that was asked for.
#include <CLI/CLI.hpp>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/op/spgemm_parts.hpp>
#include <lacuna/op/verify_product.hpp>

namespace lacuna::app {
namespace {

struct multiply_settings {
  std::string a, b, output;
  bool transpose_a = false, transpose_b = false, general = false, verify = false;
  std::uint64_t memory_limit = 0;
  spgemm_method method = spgemm_method::adaptive;
  bool relaxed = false;
  int times = 1;
  io::read_options read;
};

std::string name_of(spgemm_method method) {
  return method == spgemm_method::adaptive ? "adaptive" : "expand-sort";
}

struct multiply_outcome {
  std::int64_t rows = 0, cols = 0, entries = 0, products = 0;
  std::vector<double> seconds;
  std::int64_t peak_bytes = 0; ///< A, B, C and scratch, in the engine's memory
  product_check check;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Calls f with the operand, transposed or not.
template <class A, class F> auto with_operand(bool is_transposed, const A& a, F&& f) {
  return is_transposed ? f(transposed(a)) : f(a);
}

/// Offsets of C have 64 bits: nothing is too large but memory.
template <class T, class I, class O, space S>
multiply_outcome multiply_on(const options& o, const context<S>& ctx, const multiply_settings& s,
                             const csr<T, I, O>& a, const csr<T, I, O>& b,
                             csr<T, I, std::int64_t>& c) {
  const host_context host({o.threads});
  const auto& a_on_engine = bring_to(ctx, a);
  const auto& b_on_engine = bring_to(ctx, b);
  const spgemm_options how{.memory_limit = s.memory_limit,
                           .method = s.method,
                           .order = s.relaxed ? spgemm_order::relaxed : spgemm_order::of_a};
  multiply_outcome measured;
  with_operand(s.transpose_a, a_on_engine, [&](const auto& left) {
    with_operand(s.transpose_b, b_on_engine, [&](const auto& right) {
      const spgemm_estimate before = estimate(ctx, left, right);
      measured.products = before.products;
      for (int i = 0; i < s.times; ++i) {
        c = {};
        ctx.synchronize();
        reset_memory_peak(S);
        const stopwatch watch;
        if (s.memory_limit != 0) {
          c = multiply_to_host(ctx, host, left, right, how);
        } else {
          auto made = multiply_wide(ctx, left, right, how);
          ctx.synchronize();
          measured.seconds.push_back(watch.seconds());
          if constexpr (S == space::host)
            c = std::move(made);
          else if (i + 1 == s.times)
            c = copy_to(host, made);
        }
        if (s.memory_limit != 0) measured.seconds.push_back(watch.seconds());
        measured.peak_bytes = memory(S).peak;
      }
    });
  });
  if (s.verify)
    with_operand(s.transpose_a, a, [&](const auto& left) {
      with_operand(s.transpose_b, b, [&](const auto& right) {
        measured.check = verify_product(host, 1, left, right, c, o.seed);
      });
    });
  measured.rows = c.shape().row;
  measured.cols = c.shape().col;
  measured.entries = c.size();
  return measured;
}

/// Whole numbers stay whole; a product has no symmetry that a file could tell.
io::file_info about_product(const io::file_info& a, const io::file_info& b) {
  const auto whole = [](const io::file_info& from) {
    return from.values == io::field::integer || from.values == io::field::pattern;
  };
  io::file_info result;
  result.values = whole(a) && whole(b) ? io::field::integer : io::field::real;
  return result;
}

std::string in_words(const multiply_settings& s) {
  return shown(s.a) + (s.transpose_a ? "^T" : "") + " times " + shown(s.b) +
         (s.transpose_b ? "^T" : "");
}

void report(const options& o, const multiply_settings& s, const multiply_outcome& measured,
            const std::string& device, const std::string& where) {
  const double seconds = measured.median();
  const double rate = seconds > 0 ? 2 * static_cast<double>(measured.products) / seconds : 0;
  if (o.json)
    return print_json({{"command", "multiply"},
                       {"matrix", s.a},
                       {"other", s.b},
                       {"output", s.output.empty() ? json() : json(s.output)},
                       {"transpose_a", s.transpose_a},
                       {"transpose_b", s.transpose_b},
                       {"method", name_of(s.method)},
                       {"times", s.times},
                       {"rows", measured.rows},
                       {"cols", measured.cols},
                       {"nnz", measured.entries},
                       {"products", measured.products},
                       {"seconds", seconds},
                       {"gflops", rate * 1e-9},
                       {"peak_bytes", measured.peak_bytes},
                       {"verify_error", s.verify ? json(measured.check.worst) : json()},
                       {"device", device}});
  if (o.quiet && s.output.empty())
    print("{} entries in {}\n", measured.entries, human_seconds(seconds));
  const talk say(o, s.output);
  say("{}{}: {} from {} products\n", in_words(s), s.output.empty() ? "" : " -> " + shown(s.output),
      human_shape(measured.rows, measured.cols, measured.entries), human_count(measured.products));
  say("{}{} on {}, {:.2f} GFLOP/s, {} at most\n", s.times > 1 ? "median " : "",
      human_seconds(seconds), where, rate * 1e-9,
      human_bytes(static_cast<double>(measured.peak_bytes)));
  if (s.verify)
    say("{} largest error {:.3g} of its bound{}\n", measured.check.ok ? "✓" : "✗",
        measured.check.worst,
        measured.check.ok ? "" : fmt::format(", in row {}", measured.check.row));
}

int run_multiply(const options& o, const multiply_settings& s) {
  require_output(o, s.output);
  if (s.a == "-" && s.b == "-") throw CLI::ValidationError("B", "standard input is taken by A");
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto left = load_matrix<T>(host, s.a, s.read, shows_progress(o));
      const auto right = load_matrix<T>(host, s.b, s.read, shows_progress(o));
      const multiply_outcome measured = naming(s.a + " times " + s.b, [&] {
        return with_like_widths(host, left.matrix, right.matrix, [&](const auto& a, const auto& b) {
          using M = std::remove_cvref_t<decltype(a)>;
          csr<T, typename M::index_type, std::int64_t> c;
          multiply_outcome made = multiply_on(o, ctx, s, a, b, c);
          if (!s.output.empty())
            write_like(o, host, s.output, std::as_const(c).view(),
                       about_product(left.about, right.about), s.general);
          return made;
        });
      });
      report(o, s, measured, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(measured.check.ok ? exit_done : exit_failed);
    });
  });
}

} // namespace

void add_multiply(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("multiply", "the sparse product C = A B");
  const auto s = std::make_shared<multiply_settings>();
  add_matrix(*command, s->a);
  command->add_option("B", s->b, "the same; as many rows as A has columns")
      ->required()
      ->option_text("MATRIX");
  add_output(*command, s->output, "write C there; its extension says how; - is stdout");
  command->add_flag("--transpose-a", s->transpose_a, "C = A^T B");
  command->add_flag("--transpose-b", s->transpose_b, "C = A B^T");
  command
      ->add_option("--memory-limit", s->memory_limit,
                   "make C in parts that take no more of the engine's memory")
      ->transform(CLI::AsSizeValue(true))
      ->option_text("SIZE");
  command->add_flag("--relaxed", s->relaxed,
                    "a device may add in any order: last bits can change from run to run");
  add_choice<spgemm_method>(
      *command, "--method", s->method,
      {{"adaptive", spgemm_method::adaptive}, {"expand-sort", spgemm_method::expand_sort}},
      "adaptive (default): by class of rows; expand-sort: rows are sorted")
      ->option_text("M");
  command->add_option("--times", s->times, "multiply so often, the median counts; default: 1")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  command->add_flag("--verify", s->verify, "check C with a random vector (Freivalds)");
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  add_read_options(*command, s->read);
  command->footer(
      "C is sorted, and has an entry wherever products meet, also where they cancel.\n\n"
      "Examples:\n"
      "  lacuna multiply A.mtx A.mtx -o C.mtx --verify\n"
      "  lacuna multiply A.mtx A.mtx --transpose-b --memory-limit 2G --json");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_multiply(o, *s); }; });
}

} // namespace lacuna::app
