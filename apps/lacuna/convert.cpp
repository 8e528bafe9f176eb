// lacuna convert A -o B: the same matrix in another file format.
#include <CLI/CLI.hpp>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/progress.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"

namespace lacuna::app {
namespace {

struct convert_settings {
  std::string matrix, output;
  bool general = false;
  io::read_options read;
};

/// Complex values are kept unless they are to become real.
template <class T>
io::complex_file_matrix<T> load(const options& o, const host_context& ctx,
                                const convert_settings& s) {
  if (s.matrix.starts_with("gen:") || s.read.complex != io::complex_rule::refuse) {
    auto [matrix, about] = load_matrix<T>(ctx, s.matrix, s.read, shows_progress(o));
    return {std::move(matrix), {}, std::move(about)};
  }
  progress_bar bar("reading " + s.matrix, progress_bar::unit::bytes, shows_progress(o));
  io::read_options watched = s.read;
  watched.progress = bar.callback();
  return io::read_complex<T>(ctx, s.matrix, watched);
}

template <class T, class I, class O>
void write_complex(const options& o, const host_context& ctx, const convert_settings& s,
                   const csr<T, I, O>& real, const csr<T, I, O>& imaginary,
                   const io::file_info& from) {
  io::write_options w;
  w.comment = from.comment;
  if (!s.general) w.structure = from.structure;
  progress_bar bar("writing " + s.output, progress_bar::unit::entries, shows_progress(o));
  w.progress = bar.callback();
  io::write_complex(ctx, s.output, real.view(), imaginary.view(), w);
}

int run_convert(const options& o, const convert_settings& s) {
  require_output(o, s.output);
  const host_context ctx = host_only(o);
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    const stopwatch reading;
    const auto loaded = load<T>(o, ctx, s);
    const double read_seconds = reading.seconds();
    const stopwatch writing;
    const std::int64_t entries = std::visit(
        [&]<class I, class O>(const csr<T, I, O>& a) -> std::int64_t {
          if (loaded.imaginary)
            write_complex(o, ctx, s, a, std::get<csr<T, I, O>>(*loaded.imaginary), loaded.about);
          else
            write_like(o, ctx, s.output, a.view(), loaded.about, s.general);
          return a.size();
        },
        loaded.real);
    const double write_seconds = writing.seconds();
    const auto& about = loaded.about;
    talk(o, s.output)("{} -> {}: {}; {} in {}, written in {}\n", shown(s.matrix), shown(s.output),
                      human_shape(about.rows, about.cols, entries),
                      s.matrix.starts_with("gen:") ? "generated" : "read",
                      human_seconds(read_seconds), human_seconds(write_seconds));
    if (o.json)
      print_json({{"command", "convert"},
                  {"matrix", s.matrix},
                  {"output", s.output},
                  {"rows", about.rows},
                  {"cols", about.cols},
                  {"nnz", entries},
                  {"read_seconds", read_seconds},
                  {"write_seconds", write_seconds}});
    return static_cast<int>(exit_done);
  });
}

} // namespace

void add_convert(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("convert", "the same matrix in another file format");
  const auto s = std::make_shared<convert_settings>();
  add_matrix(*command, s->matrix);
  add_output(*command, s->output, "the file to write; its extension says how; - is stdout")
      ->required();
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  add_read_options(*command, s->read);
  command->footer("Field and symmetry of the file are kept where the new format can hold them.\n"
                  "Complex values stay complex, unless --complex makes them real.\n\n"
                  "Examples:\n"
                  "  lacuna convert cage10.mtx.gz -o cage10.npz\n"
                  "  lacuna convert gen:poisson2d:n=100 -o - | gzip > poisson.mtx.gz");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_convert(o, *s); }; });
}

} // namespace lacuna::app
