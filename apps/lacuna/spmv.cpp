// lacuna spmv A: y = A x, how long it takes and how far that is from the memory's limit.
#include <CLI/CLI.hpp>

#include "common/bandwidth.hpp"
#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/text.hpp"
#include "common/vectors.hpp"
#include "lacuna/command.hpp"
#include "reference/reference.hpp"
#include <lacuna/plan/plan.hpp>

namespace lacuna::app {
namespace {

struct spmv_settings {
  std::string matrix, x, y;
  bool transposed = false, verify = false;
  std::string format; ///< empty: planned
  int repeat = 11;
  io::read_options read;

  /// Few products are measured, but as those of a plan for many.
  [[nodiscard]] int planned() const { return std::max(repeat, 1000); }
};

struct spmv_outcome {
  std::int64_t rows = 0, cols = 0, entries = 0;
  plan_decision decision;
  std::string kernel;
  double seconds = 0;   ///< of one product, median
  double bytes = 0;     ///< of one product: the matrix as csr once, both vectors once
  double own_bytes = 0; ///< the same with the matrix in its format
  double ops = 0;
  const char* probe = "";
  double bandwidth = 0; ///< bytes per second of the probe, median of the same rounds
  double verify_error = 0;

  [[nodiscard]] double share() const { return bytes / seconds / bandwidth; }
  /// Whether memory alone could not have brought so much in that time.
  [[nodiscard]] bool cached() const { return own_bytes / seconds > 1.2 * bandwidth; }
};

/// Rounds of products and passes of the probe in turn, so that a noisy moment hits both.
template <class Run>
void measure(spmv_outcome& result, int repeat, int products, const bandwidth_probe& probe,
             Run run) {
  constexpr int most_passes = 11; // a pass costs far more than a small product
  std::vector<double> product_seconds, probe_seconds;
  run();
  probe.run();
  for (int round = 0; round < repeat; ++round) {
    const stopwatch watch;
    run();
    product_seconds.push_back(watch.seconds() / products);
    if (round >= most_passes) continue;
    const stopwatch probe_watch;
    probe.run();
    probe_seconds.push_back(probe_watch.seconds() / probe.runs);
  }
  result.seconds = median(product_seconds);
  result.probe = probe.name;
  result.bandwidth = probe.bytes / median(probe_seconds);
}

/// x and y are in host memory; y has the size of the result.
template <class T, class I, class O, space S>
spmv_outcome multiply_on(const context<S>& ctx, const csr<T, I, O>& a, const array<T>& x,
                         array<T>& y, const spmv_settings& s) {
  const auto& matrix = bring_to(ctx, a);
  const auto& x_on_engine = bring_to(ctx, x);
  array<T, S> y_on_engine(ctx, y.size());
  // On a device products are queued back to back: one alone would be timed with its launch.
  constexpr int products = S == space::host ? 1 : 10;
  spmv_outcome result;
  plan_hints hints;
  hints.multiplies = s.transposed ? 0 : s.planned();
  hints.transposed_multiplies = s.transposed ? s.planned() : 0;
  hints.format = s.format;
  const auto op = plan(ctx, matrix, hints);
  const plan_decision* const across = op.transposed_decision();
  result.decision = across != nullptr ? *across : op.decision();
  result.kernel = across != nullptr ? across->chosen().kernel : op.kernel();
  measure(result, s.repeat, products, make_probe(ctx), [&] {
    for (int i = 0; i < products; ++i)
      s.transposed ? op.multiply_transposed(x_on_engine, y_on_engine)
                   : op.multiply(x_on_engine, y_on_engine);
    ctx.synchronize();
  });
  y = copy_to(host_context(), y_on_engine);
  result.rows = a.shape().row;
  result.cols = a.shape().col;
  result.entries = a.size();
  result.ops = 2 * static_cast<double>(a.size());
  const auto vectors = static_cast<double>(x.bytes() + y.bytes());
  result.bytes = static_cast<double>(a.bytes()) + vectors;
  result.own_bytes = static_cast<double>(op.bytes()) + vectors;
  if (!s.transposed && op.format() == "csr") result.own_bytes += result.bytes - vectors;
  if (s.verify) {
    const auto expected =
        reference::multiply<T, I, O>(a.view(), std::as_const(x).view(), s.transposed);
    result.verify_error = reference::worst_error<T>(std::as_const(y).view(), expected);
  }
  return result;
}

template <class T>
array<T> load_x(const options& o, const host_context& host, const spmv_settings& s,
                std::int64_t size) {
  if (!s.x.empty()) {
    io::read_options read;
    read.complex = s.read.complex;
    return naming(s.x, [&] { return io::read_vector<T>(host, s.x, read); });
  }
  array<T> x(host, size);
  fill_vector(x.view(), o.seed);
  return x;
}

void report(const options& o, const spmv_settings& s, const spmv_outcome& result,
            const std::string& device, const std::string& where) {
  const double gflops = result.ops / result.seconds * 1e-9;
  const double gbytes = result.bytes / result.seconds * 1e-9;
  const bool right = result.verify_error <= 1; // false for NaN
  const plan_candidate& chosen = result.decision.chosen();
  const std::string& format = chosen.format;
  if (o.json) {
    print_json({{"command", "spmv"},
                {"matrix", s.matrix},
                {"rows", result.rows},
                {"cols", result.cols},
                {"nnz", result.entries},
                {"transposed", s.transposed},
                {"x", s.x.empty() ? json{{"seed", o.seed}} : json(s.x)},
                {"precision", o.values == precision::f64 ? "f64" : "f32"},
                {"format", format},
                {"kernel", result.kernel},
                {"device", device},
                {"planned_multiplies", s.planned()},
                {"reasons", result.decision.reasons},
                {"bytes_moved", json_size(result.own_bytes)},
                {"csr_bytes_moved", json_size(result.bytes)},
                {"repeat", s.repeat},
                {"seconds", result.seconds},
                {"gflops", gflops},
                {"gbytes_per_s", gbytes},
                {"copy_gbytes_per_s", result.bandwidth * 1e-9},
                {"copy_kind", result.probe},
                {"share_of_copy", result.share()},
                {"verify_error", s.verify ? json(result.verify_error) : json()}});
    return;
  }
  std::FILE* const to = s.y == "-" ? stderr : stdout;
  if (o.quiet) {
    if (s.y.empty()) print(to, "{} {:.2f} GFLOP/s\n", human_seconds(result.seconds), gflops);
  } else {
    print(to, "y = {} x: A is {}, {}, as {} in {}\n", s.transposed ? "A^T" : "A", shown(s.matrix),
          human_shape(result.rows, result.cols, result.entries), format,
          o.values == precision::f64 ? "f64" : "f32");
    if (s.x.empty()) print(to, "x is seeded with {}, as no -x was given\n", o.seed);
    print(to, "on {}, kernel {}, planned for {} products\n", where, result.kernel, s.planned());
    for (const std::string& reason : result.decision.reasons) print(to, "  - {}\n", reason);
    print(to, "  {}, median of {}\n  {:.2f} GFLOP/s, {:.2f} GB/s", human_seconds(result.seconds),
          s.repeat, gflops, gbytes);
    if (chosen.format == "csr")
      print(to, "\n");
    else
      print(to, " in csr's bytes: {} a product, {} in {}\n", human_bytes(result.bytes),
            human_bytes(result.own_bytes), format);
    print(to, "  {:.0f} % of the {:.1f} GB/s of a {}{}\n", 100 * result.share(),
          result.bandwidth * 1e-9, result.probe,
          result.cached() ? ": the caches hold what this matrix needs" : "");
  }
  if (s.verify && (!o.quiet || !right))
    print(o.quiet ? stderr : to, "{} largest error {:.3g} of its bound\n", right ? "✓" : "✗",
          result.verify_error);
}

int run_spmv(const options& o, const spmv_settings& s) {
  require_output(o, s.y);
  if (s.matrix == "-" && s.x == "-")
    throw CLI::ValidationError("-x", "standard input is taken by the matrix");
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      const auto& about = loaded.about;
      const array<T> x = load_x<T>(o, host, s, s.transposed ? about.rows : about.cols);
      array<T> y(host, s.transposed ? about.cols : about.rows);
      const spmv_outcome result = naming(s.x.empty() ? s.matrix : s.matrix + " times " + s.x, [&] {
        return std::visit([&](const auto& a) { return multiply_on(ctx, a, x, y, s); },
                          loaded.matrix);
      });
      if (!s.y.empty()) io::write_vector<T>(host, s.y, std::as_const(y).view());
      report(o, s, result, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(!s.verify || result.verify_error <= 1 ? exit_done : exit_failed);
    });
  });
}

} // namespace

void add_spmv(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("spmv", "y = A x: time, GFLOP/s, share of the bandwidth");
  const auto s = std::make_shared<spmv_settings>();
  add_matrix(*command, s->matrix);
  command->add_option("-x", s->x, "the vector (also .npy); default: a fixed, seeded one")
      ->option_text("FILE");
  add_output(*command, s->y, "write y there; - is stdout");
  command->add_flag("--transpose", s->transposed, "y = A^T x");
  add_format(*command, s->format);
  command->add_option("--repeat", s->repeat, "products whose median counts; default: 11")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  command->add_flag("--verify", s->verify, "compare with the reference loops");
  add_read_options(*command, s->read);
  command->footer(
      "The format is planned as for 1000 products, or --repeat if that is more, so that\n"
      "what is measured is what many products would use; making it is not counted.\n"
      "GB/s count the matrix as csr once and both vectors once, in every format. They are\n"
      "compared with a copy within the device's memory, or on the CPU with STREAM's triad,\n"
      "measured in turn with the products.\n\n"
      "Examples:\n"
      "  lacuna spmv gen:poisson3d:n=128 --verify\n"
      "  lacuna spmv gen:rmat --format ell_csr\n"
      "  lacuna spmv A.mtx -x x.mtx -o y.mtx --transpose --precision f32");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_spmv(o, *s); }; });
}

} // namespace lacuna::app
