#include "lacuna/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/progress.hpp"
#include "common/text.hpp"
#include "io/output_file.hpp"
#include <lacuna/plan/statistics.hpp>

namespace lacuna::app {

host_context host_only(const options& o) {
  if (o.device.kind == device_request::where::cuda) (void)choose_engine(o.device);
  return host_context({o.threads});
}

std::string engine_name(const host_context&) { return "host"; }
std::string engine_name(const device_context& ctx) { return fmt::format("cuda:{}", ctx.device()); }
std::string engine_text(const host_context& ctx) {
  return fmt::format("the CPU, {} thread{}", ctx.threads(), ctx.threads() == 1 ? "" : "s");
}
std::string engine_text(const device_context& ctx) {
  return fmt::format("{}, {}", engine_name(ctx), ctx.properties().name);
}

bool shows_progress(const options& o) { return !o.json && !o.quiet && stderr_can_redraw(); }

CLI::Option* add_matrix(CLI::App& command, std::string& name) {
  return command.add_option("A", name, "a file, - (standard input) or gen:NAME[:key=value,...]")
      ->required()
      ->option_text("MATRIX");
}

CLI::Validator stdout_by_name() {
  return CLI::Validator(
      [](std::string& path) -> std::string {
        for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
          if (path == name) path = "-";
        return {};
      },
      "");
}

CLI::Option* add_output(CLI::App& command, std::string& path, const std::string& help) {
  return command.add_option("-o,--output", path, help)
      ->option_text("FILE")
      ->transform(stdout_by_name())
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            if (io::is_writable_name(text)) return {};
            return "no writer for '" + text +
                   "': use .mtx, .mtx.gz, .mtx.zst, .npz, .mat, .bsp.h5 or .rb, or - for standard "
                   "output";
          },
          ""));
}

void require_output(const options& o, const std::string& output) {
  if (output.empty()) return;
  if (o.json && output == "-")
    throw CLI::ValidationError("-o", "with --json standard output is taken; name a file");
  io::require_writable(output);
}

namespace {

template <class T, class I, class O>
io::write_options kept(const host_context& ctx, csr_view<const T, I, O> a,
                       const io::file_info& from, bool general) {
  io::write_options result;
  const auto every = [&](auto holds) {
    return std::all_of(a.values().begin(), a.values().end(), holds);
  };
  // Merged duplicates, or reading with --precision f32, may have left other values.
  if (from.values == io::field::pattern && every([](T v) { return v == 1; }))
    result.values = io::field::pattern;
  else if (from.values == io::field::integer || from.values == io::field::pattern)
    result.values = io::field::integer;
  result.comment = from.comment;
  if (general || from.structure == io::symmetry::general) return result;
  // The real part or the absolute value of a complex matrix may have another symmetry than it.
  const symmetry_found symmetry = find_symmetry(ctx, a);
  if (from.structure == io::symmetry::skew_symmetric && symmetry.skew_symmetric)
    result.structure = io::symmetry::skew_symmetric;
  else if (symmetry.symmetric)
    result.structure = io::symmetry::symmetric;
  return result;
}

} // namespace

template <class T, class I, class O>
void write_like(const options& o, const host_context& ctx, const std::string& path,
                csr_view<const T, I, O> a, const io::file_info& from, bool general) {
  io::write_options w = kept(ctx, a, from, general);
  progress_bar bar("writing " + path, progress_bar::unit::entries, shows_progress(o));
  w.progress = bar.callback();
  io::write(ctx, path, a, w);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_like(const options&, const host_context&, const std::string&,                \
                           csr_view<const T, I, O>, const io::file_info&, bool);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::app
