#include "common/matrix.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/options.hpp"
#include "common/progress.hpp"
#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>

namespace lacuna::app {
namespace {

template <class T> io::any_csr<T> generate_any(const host_context& ctx, std::string_view spec) {
  const auto size = gen::expected_size(spec);
  const bool short_index = fits<std::int32_t>(std::max(size.rows, size.cols));
  const bool short_offset = fits<std::int32_t>(size.entries);
  if (short_index && short_offset) return gen::generate<T, std::int32_t, std::int32_t>(ctx, spec);
  if (short_index) return gen::generate<T, std::int32_t, std::int64_t>(ctx, spec);
  return gen::generate<T, std::int64_t, std::int64_t>(ctx, spec);
}

} // namespace

void add_read_options(CLI::App& command, io::read_options& options) {
  using io::complex_rule;
  add_choice<duplicates>(
      command, "--duplicates", options.duplicates,
      {{"sum", duplicates::sum}, {"error", duplicates::error}, {"last", duplicates::last}},
      "entries given twice: sum (default), error, or last counts")
      ->option_text("RULE")
      ->group("Reading");
  add_choice<complex_rule>(command, "--complex", options.complex,
                           {{"real", complex_rule::real}, {"abs", complex_rule::abs}},
                           "complex values: take the real part or abs; default: refuse")
      ->option_text("RULE")
      ->group("Reading");
  command
      .add_option("--member", options.member,
                  "which matrix of a file that holds several; default: the first")
      ->option_text("NAME")
      ->group("Reading");
}

template <class T>
io::file_matrix<T> load_matrix(const host_context& ctx, const std::string& name,
                               const io::read_options& options, bool show_progress) {
  if (!name.starts_with("gen:")) {
    progress_bar bar("reading " + name, progress_bar::unit::bytes, show_progress);
    io::read_options watched = options;
    watched.progress = bar.callback();
    return naming(name == "-" ? "standard input" : name,
                  [&] { return io::read<T>(ctx, name, watched); });
  }
  const progress_bar bar("generating " + name, progress_bar::unit::entries, show_progress);
  io::file_matrix<T> result{
      naming(name, [&] { return generate_any<T>(ctx, std::string_view(name).substr(4)); }), {}};
  result.about.file = name;
  result.about.format = "generated";
  std::visit(
      [&](const auto& a) {
        result.about.rows = a.shape().row;
        result.about.cols = a.shape().col;
        result.about.stored_entries = a.size();
      },
      result.matrix);
  return result;
}

template io::file_matrix<float> load_matrix(const host_context&, const std::string&,
                                            const io::read_options&, bool);
template io::file_matrix<double> load_matrix(const host_context&, const std::string&,
                                             const io::read_options&, bool);

} // namespace lacuna::app
