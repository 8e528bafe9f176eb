#include <lacuna/op/print.hpp>

#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>

namespace lacuna::detail {
namespace {

constexpr std::int64_t grid_rows = 24, grid_columns = 12; ///< of the largest grid
constexpr std::int64_t listed = 12;                       ///< entries of a larger matrix

template <class T> const char* type_name() { return std::is_same_v<T, float> ? "float" : "double"; }
template <class T> std::string number(T value) { return fmt::format("{:.6g}", value); }

/// Columns as wide as their widest cell.
std::string grid(const std::vector<std::string>& cells, std::int64_t columns) {
  std::size_t width = 1;
  for (const std::string& cell : cells) width = std::max(width, cell.size());
  std::string text;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    text += fmt::format("  {:>{}}", cells[k], width);
    if ((k + 1) % static_cast<std::size_t>(columns) == 0) text += '\n';
  }
  return text;
}

} // namespace

template <class T, class I, class O>
std::string text_of(const char* format, coo_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col, nnz = a.size();
  std::string text =
      fmt::format("{} {} x {}, {} entries, {}\n", format, rows, cols, nnz, type_name<T>());
  if (rows <= grid_rows && cols <= grid_columns && rows > 0 && cols > 0) {
    std::vector<T> sum(static_cast<std::size_t>(rows * cols));
    std::vector<bool> stored(sum.size());
    for (std::int64_t k = 0; k < nnz; ++k) {
      const auto at = static_cast<std::size_t>(a.rowind()[k] * cols + a.colind()[k]);
      sum[at] += a.values()[k];
      stored[at] = true;
    }
    std::vector<std::string> cells(sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k) cells[k] = stored[k] ? number(sum[k]) : ".";
    return text + grid(cells, cols);
  }
  for (std::int64_t k = 0; k < std::min(nnz, listed); ++k)
    text += fmt::format("  ({}, {})  {}\n", a.rowind()[k], a.colind()[k], number(a.values()[k]));
  if (nnz > listed) text += fmt::format("  and {} more\n", nnz - listed);
  return text;
}

template <class T> std::string text_of(dense_view<const T> a) {
  const auto [rows, cols] = a.shape();
  std::string text = fmt::format("dense {} x {}, {}\n", rows, cols, type_name<T>());
  const std::int64_t shown_rows = std::min(rows, grid_rows);
  const std::int64_t shown_cols = std::min(cols, grid_columns);
  std::vector<std::string> cells;
  for (std::int64_t i = 0; i < shown_rows; ++i)
    for (std::int64_t j = 0; j < shown_cols; ++j) cells.push_back(number(a(i, j)));
  if (!cells.empty()) text += grid(cells, shown_cols);
  if (shown_rows < rows || shown_cols < cols) text += "  and more\n";
  return text;
}

std::ostream& put(std::ostream& out, const std::string& text) { return out << text; }

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template std::string text_of<T, I, O>(const char*, coo_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template std::string text_of<float>(dense_view<const float>);
template std::string text_of<double>(dense_view<const double>);

} // namespace lacuna::detail
