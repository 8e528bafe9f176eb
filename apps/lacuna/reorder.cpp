// lacuna reorder A --method rcm|band-k: bandwidth before and after, the matrix in the new order.
#include <CLI/CLI.hpp>
#include <memory>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/text.hpp"
#include "io/output_file.hpp"
#include "lacuna/command.hpp"
#include <lacuna/op/reorder.hpp>
#include <lacuna/plan/statistics.hpp>

namespace lacuna::app {
namespace {

enum class method { rcm, band_k };

struct reorder_settings {
  std::string matrix, output, permutation;
  method by = method::rcm;
  std::vector<std::int64_t> sizes = {96};
  bool general = false;
  io::read_options read;
};

struct reorder_outcome {
  matrix_statistics before, after;
  std::vector<std::int64_t> groups; ///< super-rows, super-super-rows, …
  double seconds = 0;               ///< to find the order
  double permute_seconds = 0;
};

/// Line i is the row of A, counted from 1, that became row i.
template <class I> void write_permutation(const std::string& path, const permutation<I>& p) {
  io::output_file file(path);
  std::string text = fmt::format("%%MatrixMarket matrix array integer general\n{} 1\n", p.size());
  for (const I old : p.new_to_old()) {
    fmt::format_to(std::back_inserter(text), "{}\n", std::int64_t{old} + 1);
    if (text.size() < (1U << 20)) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

template <class T, class I, class O>
reorder_outcome reorder(const options& o, const host_context& ctx, const reorder_settings& s,
                        const csr<T, I, O>& a, const io::file_info& about) {
  reorder_outcome result;
  permutation<I> p;
  const stopwatch ordering;
  if (s.by == method::rcm) {
    p = reverse_cuthill_mckee(ctx, a);
  } else {
    auto ordered = band_k(ctx, a, s.sizes);
    p = std::move(ordered.order);
    for (const auto& starts : ordered.starts) result.groups.push_back(starts.size() - 1);
  }
  result.seconds = ordering.seconds();
  const stopwatch permuting;
  const csr<T, I, O> b = permute(ctx, a, p);
  result.permute_seconds = permuting.seconds();
  result.before = statistics(ctx, a);
  result.after = statistics(ctx, b);
  if (!s.output.empty()) write_like(o, ctx, s.output, b.view(), about, s.general);
  if (!s.permutation.empty()) write_permutation(s.permutation, p);
  return result;
}

void report(const options& o, const host_context& ctx, const reorder_settings& s,
            const reorder_outcome& result) {
  const char* const name = s.by == method::rcm ? "rcm" : "band-k";
  if (o.json) {
    print_json({{"command", "reorder"},
                {"matrix", s.matrix},
                {"output", s.output.empty() ? json() : json(s.output)},
                {"permutation", s.permutation.empty() ? json() : json(s.permutation)},
                {"method", name},
                {"rows", result.before.rows},
                {"cols", result.before.cols},
                {"nnz", result.before.entries},
                {"bandwidth_before", result.before.bandwidth()},
                {"bandwidth_after", result.after.bandwidth()},
                {"profile_before", result.before.profile},
                {"profile_after", result.after.profile},
                {"groups", result.groups},
                {"seconds", result.seconds},
                {"permute_seconds", result.permute_seconds},
                {"device", engine_name(ctx)}});
    return;
  }
  std::FILE* const to = s.output == "-" || s.permutation == "-" ? stderr : stdout;
  if (o.quiet) {
    if (to == stdout && s.output.empty())
      print(to, "bandwidth {} -> {}\n", result.before.bandwidth(), result.after.bandwidth());
    return;
  }
  const auto& m = result.before;
  print(to, "{}: {}; {} in {}, permuted in {}, on {}\n", shown(s.matrix),
        human_shape(m.rows, m.cols, m.entries), name, human_seconds(result.seconds),
        human_seconds(result.permute_seconds), engine_text(ctx));
  print(to, "  bandwidth  {} -> {}\n", m.bandwidth(), result.after.bandwidth());
  print(to, "  profile    {} -> {}\n", human_count(m.profile), human_count(result.after.profile));
  std::string level = "super-rows";
  auto members = static_cast<double>(m.rows);
  for (const std::int64_t groups : result.groups) {
    print(to, "  {} {}, of {:.1f} on average\n", groups, level,
          groups == 0 ? 0 : members / static_cast<double>(groups));
    level.insert(0, "super-");
    members = static_cast<double>(groups);
  }
}

int run_reorder(const options& o, const reorder_settings& s) {
  require_output(o, s.output);
  if (s.permutation == "-" && (o.json || s.output == "-"))
    throw CLI::ValidationError("--permutation", "standard output is taken; name a file");
  if (!s.permutation.empty() && io::is_same_output(s.output, s.permutation))
    throw CLI::ValidationError("--permutation",
                               "'" + s.permutation + "' is the file that -o writes; name another");
  require_output(o, s.permutation);
  const host_context ctx = host_only(o);
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    const auto loaded = load_matrix<T>(ctx, s.matrix, s.read, shows_progress(o));
    const auto& about = loaded.about;
    if (about.rows != about.cols)
      throw size_mismatch(fmt::format("reorder: {} is {} x {}; rows and columns are renumbered "
                                      "alike, so it must be square",
                                      s.matrix, about.rows, about.cols));
    const reorder_outcome result = naming(s.matrix, [&] {
      return std::visit([&](const auto& a) { return reorder(o, ctx, s, a, about); }, loaded.matrix);
    });
    report(o, ctx, s, result);
    return static_cast<int>(exit_done);
  });
}

} // namespace

void add_reorder(CLI::App& cli, const options& o, action& chosen) {
  auto* command =
      cli.add_subcommand("reorder", "rows and columns renumbered for a small bandwidth");
  const auto s = std::make_shared<reorder_settings>();
  add_matrix(*command, s->matrix);
  add_choice<method>(*command, "--method", s->by,
                     {{"rcm", method::rcm}, {"band-k", method::band_k}},
                     "rcm (default): reverse Cuthill-McKee; band-k: with super-rows")
      ->option_text("M");
  command
      ->add_option("--sizes", s->sizes,
                   "band-k: sizes of super-rows and of their groups; default: 96")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N[,N...]");
  add_output(*command, s->output, "write the reordered matrix there; - is stdout");
  command->add_option("--permutation", s->permutation, "write the old row of each new row there")
      ->transform(stdout_by_name())
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            const bool fine = text == "-" || text.ends_with(".mtx") || io::is_pipe_or_device(text);
            return fine ? "" : "'" + text + "' must end in .mtx";
          },
          ""))
      ->option_text("FILE");
  command->add_flag("--general", s->general, "store both triangles of a symmetric matrix");
  add_read_options(*command, s->read);
  command->footer(
      "Rows and columns are renumbered alike: B = P A P^T. The matrix must be square; "
      "its\npattern need not be symmetric.\n\n"
      "Examples:\n"
      "  lacuna reorder gen:mesh2d:shuffle=1\n"
      "  lacuna reorder A.mtx --method band-k --sizes 96,8 -o B.mtx --permutation p.mtx");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_reorder(o, *s); }; });
}

} // namespace lacuna::app
