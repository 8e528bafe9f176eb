// lacuna info A: what a matrix is like. lacuna info gen: what can be generated.
#include <CLI/CLI.hpp>

#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include <lacuna/format/block_tree.hpp>
#include <lacuna/plan/statistics.hpp>

namespace lacuna::app {
namespace {

struct info_settings {
  std::string matrix;
  io::read_options read;
};

/// All that is printed, free of types.
struct facts_found {
  matrix_statistics s;
  symmetry_found symmetry;
  tree_statistics tree; ///< as a block tree
  int value_bytes = 0, index_bytes = 0, offset_bytes = 0;

  /// Of the matrix in each format.
  [[nodiscard]] std::vector<std::pair<std::string, double>> bytes() const {
    const auto rows = static_cast<double>(s.rows), cols = static_cast<double>(s.cols),
               nnz = static_cast<double>(s.entries),
               longest = static_cast<double>(s.row_length.longest);
    const double entry = value_bytes + index_bytes;
    return {{"coo", nnz * (entry + index_bytes)},
            {"csr", nnz * entry + (rows + 1) * offset_bytes},
            {"csc", nnz * entry + (cols + 1) * offset_bytes},
            {"ell", rows * longest * entry},
            {"block_tree", static_cast<double>(tree.bytes)},
            {"dense", rows * cols * value_bytes}};
  }
};

template <class T> facts_found find_facts(const host_context& ctx, const io::any_csr<T>& any) {
  return std::visit(
      [&]<class I, class O>(const csr<T, I, O>& a) {
        return facts_found{statistics(ctx, a),
                           find_symmetry(ctx, a),
                           node_statistics(to_block_tree(ctx, a)),
                           sizeof(T),
                           sizeof(I),
                           sizeof(O)};
      },
      any);
}

/// Nodes of one sort, as in the thesis' figure 7.1: sparse ones, dense ones, and what they hold on
/// average.
struct node_sort {
  std::int64_t sparse, dense;
  double mean;
};
double mean_of(const tree_statistics::kind& k) {
  return k.nodes == 0 ? 0 : static_cast<double>(k.entries) / static_cast<double>(k.nodes);
}
node_sort inner_nodes(const tree_statistics& t) {
  return {t.sum(tree_node::inner, tree_node::inner).nodes,
          t.sum(tree_node::inner_dense, tree_node::inner_dense).nodes,
          mean_of(t.sum(tree_node::inner, tree_node::inner_dense))};
}
node_sort leaf_nodes(const tree_statistics& t) {
  return {t.sum(tree_node::coo1, tree_node::rows_32).nodes,
          t.sum(tree_node::dense, tree_node::masked).nodes,
          mean_of(t.sum(tree_node::dense, tree_node::rows_32))};
}
json tree_as_json(const tree_statistics& t) {
  const auto sort = [](const node_sort& n) {
    return json{{"sparse", n.sparse}, {"dense", n.dense}, {"mean_entries", n.mean}};
  };
  json types = json::object();
  for (int type = 1; type < tree_node_types; ++type)
    if (t.of[type].nodes > 0)
      types[to_string(static_cast<tree_node>(type))] = {{"nodes", t.of[type].nodes},
                                                        {"entries", t.of[type].entries},
                                                        {"bytes", t.of[type].bytes}};
  return {{"block", t.block},
          {"levels", t.levels},
          {"inner", sort(inner_nodes(t))},
          {"leaves", sort(leaf_nodes(t))},
          {"types", types}};
}

json as_json(const io::file_info& about, const facts_found& f) {
  const matrix_statistics& s = f.s;
  json histogram = json::array();
  for (std::size_t k = 0; k < s.length_histogram.size(); ++k)
    if (s.length_histogram[k] > 0)
      histogram.push_back({{"from", k == 0 ? 0 : std::int64_t{1} << (k - 1)},
                           {"to", k == 0 ? 0 : (std::int64_t{1} << (k - 1)) * 2 - 1},
                           {"rows", s.length_histogram[k]}});
  json bytes;
  for (const auto& [format, size] : f.bytes()) bytes[format] = json_size(size);
  return {{"command", "info"},
          {"matrix", about.file},
          {"file_format", about.format},
          {"member", about.member.empty() ? json() : json(about.member)},
          {"others", about.others},
          {"rows", s.rows},
          {"cols", s.cols},
          {"stored_entries", about.stored_entries},
          {"nnz", s.entries},
          {"field", io::name_of(about.values)},
          {"symmetry", io::name_of(about.structure)},
          {"symmetry_found",
           {{"pattern", f.symmetry.pattern},
            {"symmetric", f.symmetry.symmetric},
            {"skew_symmetric", f.symmetry.skew_symmetric}}},
          {"row_length",
           {{"min", s.shortest_row},
            {"mean", s.row_length.mean},
            {"max", s.row_length.longest},
            {"stddev", s.row_length.deviation},
            {"empty", s.row_length.empty},
            {"histogram", histogram}}},
          {"bandwidth", s.bandwidth()},
          {"lower_bandwidth", s.lower_bandwidth},
          {"upper_bandwidth", s.upper_bandwidth},
          {"profile", s.profile},
          {"diagonal_entries", s.diagonal_entries},
          {"explicit_zeros", s.zeros},
          {"nan_values", s.nans},
          {"infinite_values", s.infinities},
          {"blocks_128", {{"occupied", s.blocks}, {"mean_fill", s.block_fill()}}},
          {"block_tree", tree_as_json(f.tree)},
          {"index_bits", 8 * f.index_bytes},
          {"offset_bits", 8 * f.offset_bytes},
          {"bytes", bytes}};
}

std::string symmetry_text(const symmetry_found& s, const matrix_statistics& m) {
  if (m.rows != m.cols) return "not square";
  if (m.entries == 0) return "nothing to compare";
  if (s.symmetric && s.skew_symmetric) return "pattern symmetric, all values 0";
  if (s.symmetric) return "pattern and values symmetric";
  if (s.skew_symmetric) return "pattern symmetric, values skew-symmetric";
  return s.pattern ? "pattern symmetric, values not" : "pattern not symmetric";
}

/// One line for each length, or range of lengths, that rows have.
void print_histogram(const talk& say, const matrix_statistics& s) {
  constexpr int width = 40;
  std::int64_t most = 1;
  std::size_t last = 0;
  std::size_t first = s.length_histogram.size();
  for (std::size_t k = 0; k < s.length_histogram.size(); ++k) {
    most = std::max(most, s.length_histogram[k]);
    if (s.length_histogram[k] == 0) continue;
    first = std::min(first, k);
    last = k;
  }
  say("  rows by length\n");
  for (std::size_t k = first; k <= last; ++k) {
    const std::int64_t low = k == 0 ? 0 : std::int64_t{1} << (k - 1);
    const std::string range =
        k < 2 ? fmt::format("{}", low)
              : fmt::format("{}-{}", human_count(low), human_count(2 * low - 1));
    const std::int64_t rows = s.length_histogram[k];
    std::string bar = bar_of(static_cast<double>(rows) / static_cast<double>(most), width);
    if (rows > 0 && bar.empty()) bar = "▏";
    say("  {:>13} │{} {}\n", range, bar, rows == 0 ? "" : human_count(rows));
  }
}

/// Which matrix of the file this is, and what else is there.
void print_members(const talk& say, const io::file_info& about) {
  constexpr std::size_t most = 8;
  if (about.member.empty()) return;
  say("  read          {}\n", shown(about.member));
  for (std::size_t k = 0; k < std::min(about.others.size(), most); ++k)
    say("  {:<14}{}\n", k == 0 ? "also there" : "", shown(about.others[k]));
  if (about.others.size() > most) say("                and {} more\n", about.others.size() - most);
}

void print_text(const options& o, const io::file_info& about, const facts_found& f) {
  const matrix_statistics& s = f.s;
  if (o.quiet) {
    print("{}: {}\n", shown(about.file), human_shape(s.rows, s.cols, s.entries));
    return;
  }
  const talk say(o);
  say("{}: {}\n", shown(about.file), shown(about.format));
  print_members(say, about);
  say("  size          {} x {}, {} {}", s.rows, s.cols, s.entries,
      s.entries == 1 ? "entry" : "entries");
  if (s.entries != about.stored_entries) say(" ({} in the file)", about.stored_entries);
  say("\n  field         {}, {}\n", io::name_of(about.values), io::name_of(about.structure));
  say("  in fact       {}\n", symmetry_text(f.symmetry, s));
  say("  row length    {} to {}, mean {:.2f}, deviation {:.2f}; {} empty\n", s.shortest_row,
      s.row_length.longest, s.row_length.mean, s.row_length.deviation,
      human_count(s.row_length.empty));
  say("  bandwidth     {} ({} below, {} above the diagonal), profile {}\n", s.bandwidth(),
      s.lower_bandwidth, s.upper_bandwidth, human_count(s.profile));
  say("  diagonal      {} of {} stored\n", s.diagonal_entries, std::min(s.rows, s.cols));
  say("  values        {} explicit zero{}, {} NaN, {} infinite\n", s.zeros, s.zeros == 1 ? "" : "s",
      s.nans, s.infinities);
  say("  128 x 128     {} block{} occupied, {:.3g} % full on average\n", human_count(s.blocks),
      s.blocks == 1 ? "" : "s", 100 * s.block_fill());
  const node_sort inner = inner_nodes(f.tree), leaves = leaf_nodes(f.tree);
  say("  block tree    {} x {}, {} level{}; inner nodes {} sparse, {} dense, {:.1f} children on "
      "average;\n                leaves {} sparse, {} dense, {:.1f} entries on average\n",
      f.tree.block, f.tree.block, f.tree.levels, f.tree.levels == 1 ? "" : "s",
      human_count(inner.sparse), human_count(inner.dense), inner.mean, human_count(leaves.sparse),
      human_count(leaves.dense), leaves.mean);
  std::string bytes;
  for (const auto& [format, size] : f.bytes())
    bytes += fmt::format("{}{} {}", bytes.empty() ? "" : ", ", format, human_bytes(size));
  say("  bytes         {}\n", bytes);
  say("                with {}-bit columns, {}-bit offsets, {}-bit values\n", 8 * f.index_bytes,
      8 * f.offset_bytes, 8 * f.value_bytes);
  if (s.rows > 0) print_histogram(say, s);
}

int run_info(const options& o, const info_settings& s) {
  if (s.matrix == "gen:") return list_generators(o);
  const host_context ctx = host_only(o);
  return with_values(o.values, [&](auto zero) {
    const auto loaded = load_matrix<decltype(zero)>(ctx, s.matrix, s.read, shows_progress(o));
    const facts_found facts = naming(s.matrix, [&] { return find_facts(ctx, loaded.matrix); });
    if (o.json)
      print_json(as_json(loaded.about, facts));
    else
      print_text(o, loaded.about, facts);
    return static_cast<int>(exit_done);
  });
}

} // namespace

void add_info(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("info", "sizes, symmetry, row lengths, bands, blocks, bytes");
  const auto s = std::make_shared<info_settings>();
  add_matrix(*command, s->matrix);
  add_read_options(*command, s->read);
  command->footer("`lacuna info gen:` lists the matrices that can be generated.\n"
                  "Whether the values are symmetric is found by transposing.\n\n"
                  "Examples:\n"
                  "  lacuna info cage10.mtx.gz\n"
                  "  lacuna info gen:rmat:scale=16 --json\n"
                  "  zcat A.mtx.gz | lacuna info - --duplicates error");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_info(o, *s); }; });
}

} // namespace lacuna::app
