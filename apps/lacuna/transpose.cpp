// lacuna transpose A -o B: B = A^T on the engine that was asked for.
#include <CLI/CLI.hpp>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/transpose.hpp>

namespace lacuna::app {
namespace {

struct transpose_settings {
  std::string matrix, output;
  bool general = false;
  io::read_options read;
};

struct transpose_outcome {
  std::int64_t rows = 0, cols = 0, entries = 0;
  double seconds = 0;
  std::int64_t peak_bytes = 0; ///< both matrices and scratch, in the engine's memory
};

/// Leaves the transpose in host memory, `b`.
template <class T, class I, class O, space S>
transpose_outcome transpose_on(const context<S>& ctx, const csr<T, I, O>& a, csr<T, I, O>& b) {
  const auto timed = [&](const auto& from) {
    ctx.synchronize();
    reset_memory_peak(S);
    const stopwatch watch;
    auto result = transpose(ctx, from);
    ctx.synchronize();
    return std::pair(std::move(result), watch.seconds());
  };
  transpose_outcome measured;
  if constexpr (S == space::host) {
    std::tie(b, measured.seconds) = timed(a);
    measured.peak_bytes = memory(S).peak;
  } else {
    const auto on_device = copy_to(ctx, a);
    const auto [result, seconds] = timed(on_device);
    measured.seconds = seconds;
    measured.peak_bytes = memory(S).peak;
    b = copy_to(host_context(), result);
  }
  measured.rows = b.shape().row;
  measured.cols = b.shape().col;
  measured.entries = b.size();
  return measured;
}

int run_transpose(const options& o, const transpose_settings& s) {
  require_output(o, s.output);
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      const auto transpose_and_write = [&]<class I, class O>(const csr<T, I, O>& a) {
        csr<T, I, O> b;
        const transpose_outcome result = transpose_on(ctx, a, b);
        write_like(o, host, s.output, std::as_const(b).view(), loaded.about, s.general);
        return result;
      };
      const transpose_outcome measured =
          naming(s.matrix, [&] { return std::visit(transpose_and_write, loaded.matrix); });
      talk(o, s.output)("{} -> {}: {}; transposed in {} on {}, {} at most\n", shown(s.matrix),
                        shown(s.output),
                        human_shape(measured.rows, measured.cols, measured.entries),
                        human_seconds(measured.seconds), engine_text(ctx),
                        human_bytes(static_cast<double>(measured.peak_bytes)));
      if (o.json)
        print_json({{"command", "transpose"},
                    {"matrix", s.matrix},
                    {"output", s.output},
                    {"rows", measured.rows},
                    {"cols", measured.cols},
                    {"nnz", measured.entries},
                    {"products", 0},
                    {"seconds", measured.seconds},
                    {"peak_bytes", measured.peak_bytes},
                    {"device", engine_name(ctx)}});
      return static_cast<int>(exit_done);
    });
  });
}

} // namespace

void add_transpose(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("transpose", "B = A^T");
  const auto s = std::make_shared<transpose_settings>();
  add_matrix(*command, s->matrix);
  add_output(*command, s->output, "the file to write; its extension says how; - is stdout")
      ->required();
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  add_read_options(*command, s->read);
  command->footer("Examples:\n"
                  "  lacuna transpose A.mtx -o At.mtx.zst\n"
                  "  lacuna transpose gen:rmat:scale=16 -o rmat-transposed.npz --json");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_transpose(o, *s); }; });
}

} // namespace lacuna::app
