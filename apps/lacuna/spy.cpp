// lacuna spy A: a picture of the pattern, as PNG, as SVG or in the terminal.
#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/exit.hpp"
#include "common/text.hpp"
#include "io/output_file.hpp"
#include "lacuna/command.hpp"
#include "cpu/block_tree_frame.hpp"
#include "lacuna/picture.hpp"

namespace lacuna::app {
namespace {

struct spy_settings {
  std::string matrix, output;
  std::int64_t size = 1024;
  bool tree = false;
  io::read_options read;
};

bool is_svg(const std::string& path) { return path.ends_with(".svg"); }

picture_layout layout_for(const spy_settings& s, std::int64_t rows, std::int64_t cols) {
  if (s.output.empty()) {
    const int lines = terminal_height(STDOUT_FILENO);
    return lay_out_text(rows, cols, terminal_width(STDOUT_FILENO),
                        lines > 16 ? lines - 5 : 40); // a pipe has no height
  }
  // Every cell is text in an SVG: more than this many help nobody.
  return lay_out(rows, cols, s.size, is_svg(s.output) ? 512 : s.size);
}

template <class T, class I, class O>
std::vector<leaf_outline> leaves_of(const block_tree<T, I, O>& t) {
  std::vector<leaf_outline> leaves;
  if (t.size() == 0) return leaves;
  const auto a = t.view().stored();
  auto add = [&](std::uint64_t, int level, std::int64_t row, std::int64_t col) {
    const std::int64_t extent = detail::block_extent(a.bits, level);
    leaves.push_back({row, col, std::min<std::int64_t>(extent, a.extent.row - row),
                      std::min<std::int64_t>(extent, a.extent.col - col)});
  };
  detail::cpu::for_each_leaf(a, a.root, a.levels - 1, 0, 0, add);
  return leaves;
}

template <class T>
picture take_picture(const host_context& ctx, const spy_settings& s,
                     const io::file_matrix<T>& loaded) {
  return std::visit(
      [&]<class I, class O>(const csr<T, I, O>& a) {
        picture p;
        p.name = s.matrix == "-" ? "standard input" : s.matrix;
        p.rows = a.shape().row;
        p.cols = a.shape().col;
        p.entries = a.size();
        p.layout = layout_for(s, p.rows, p.cols);
        p.grid = density(ctx, a.view(), p.layout.grid_height, p.layout.grid_width);
        if (s.tree) p.leaves = leaves_of(to_block_tree(ctx, a));
        return p;
      },
      loaded.matrix);
}

void write_picture(const picture& p, const std::string& path) {
  const std::string bytes = is_svg(path) ? as_svg(p) : as_png(p);
  io::output_file file(path);
  file.write(bytes);
  file.commit();
}

void report(const options& o, const spy_settings& s, const picture& p) {
  const std::int64_t filled =
      std::count_if(p.grid.count.begin(), p.grid.count.end(), [](auto n) { return n > 0; });
  if (o.json) {
    print_json({{"command", "spy"},
                {"matrix", s.matrix},
                {"output", s.output.empty() ? json() : json(s.output)},
                {"rows", p.rows},
                {"cols", p.cols},
                {"nnz", p.entries},
                {"width", p.layout.width},
                {"height", p.layout.height},
                {"cells", p.layout.grid_width * p.layout.grid_height},
                {"cells_occupied", filled},
                {"most_in_a_cell", p.grid.largest()},
                {"leaves", s.tree ? json(p.leaves.size()) : json()}});
    return;
  }
  const talk say(o);
  if (s.output.empty()) {
    print_bytes(as_text(p, stdout_has_colour()));
    say("{}: {}\n", shown(p.name), p.caption());
  } else {
    say("{}: {}, {} x {} pixels -> {}\n", shown(p.name), p.caption(), p.layout.width,
        p.layout.height, shown(s.output));
  }
}

int run_spy(const options& o, const spy_settings& s) {
  require_output(o, s.output);
  const host_context ctx = host_only(o);
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    const auto loaded = load_matrix<T>(ctx, s.matrix, s.read, shows_progress(o));
    const picture p = naming(s.matrix, [&] { return take_picture<T>(ctx, s, loaded); });
    if (!s.output.empty()) write_picture(p, s.output);
    report(o, s, p);
    return static_cast<int>(exit_done);
  });
}

} // namespace

void add_spy(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("spy", "a picture of the pattern: .png, .svg or terminal");
  const auto s = std::make_shared<spy_settings>();
  add_matrix(*command, s->matrix);
  command->add_option("-o,--output", s->output, "write a .png or .svg; default: draw here")
      ->option_text("FILE")
      ->check(CLI::Validator(
          [](const std::string& path) -> std::string {
            if (path.ends_with(".png") || is_svg(path)) return {};
            return "'" + path + "' is neither .png nor .svg";
          },
          ""));
  command
      ->add_option("--size", s->size,
                   "pixels of the file's longer side, 16 to 16384; default: 1024")
      ->check(CLI::Range(16, 16384))
      ->option_text("N");
  command->add_flag("--tree", s->tree, "with the leaves of the block tree, in a .png or .svg");
  add_read_options(*command, s->read);
  command->footer("Cells are darker where there are more entries, on a logarithmic scale.\n"
                  "NO_COLOR is respected in the terminal.\n\n"
                  "Examples:\n"
                  "  lacuna spy gen:circuit:n=20000\n"
                  "  lacuna spy A.mtx -o a.png --size 2048\n"
                  "  lacuna spy A.mtx -o tree.svg --tree");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_spy(o, *s); }; });
}

} // namespace lacuna::app
