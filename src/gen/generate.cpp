#include <lacuna/gen/generate.hpp>

#include <array>
#include <charconv>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::gen {
namespace {

struct parameter {
  std::string_view name; // empty: no parameter
  std::int64_t value = 0;
};
using parameters = std::array<parameter, 4>;
using arguments = std::array<std::int64_t, 4>;

template <class T, class I, class O> struct generator {
  std::string_view name;
  parameters defaults;
  std::string_view summary;
  csr<T, I, O> (*make)(const host_context& ctx, const arguments& v);
};

/// A new generator is one more entry here.
template <class T, class I, class O>
constexpr generator<T, I, O> table[] = {
    {"poisson2d",
     {{{"n", 512}}},
     "5-point Laplacian on an n x n grid",
     [](const auto& ctx, const auto& v) { return poisson2d<T, I, O>(ctx, v[0]); }},
    {"poisson2d9",
     {{{"n", 512}}},
     "9-point Laplacian on an n x n grid",
     [](const auto& ctx, const auto& v) { return poisson2d9<T, I, O>(ctx, v[0]); }},
    {"poisson3d",
     {{{"n", 64}}},
     "7-point Laplacian on an n x n x n grid",
     [](const auto& ctx, const auto& v) { return poisson3d<T, I, O>(ctx, v[0]); }},
    {"poisson3d27",
     {{{"n", 64}}},
     "27-point Laplacian on an n x n x n grid",
     [](const auto& ctx, const auto& v) { return poisson3d27<T, I, O>(ctx, v[0]); }},
    {"fem3d",
     {{{"n", 24}, {"dof", 3}}},
     "27-point Laplacian with dof x dof blocks",
     [](const auto& ctx, const auto& v) { return fem3d<T, I, O>(ctx, v[0], v[1]); }},
    {"tridiagonal",
     {{{"n", 1000000}}},
     "(-1, 2, -1)",
     [](const auto& ctx, const auto& v) { return tridiagonal<T, I, O>(ctx, v[0]); }},
    {"banded",
     {{{"n", 100000}, {"half_bandwidth", 8}, {"seed", 1}}},
     "full band around the diagonal",
     [](const auto& ctx, const auto& v) {
       return banded<T, I, O>(ctx, v[0], v[1], static_cast<std::uint64_t>(v[2]));
     }},
    {"dense",
     {{{"n", 1000}, {"m", 1000}, {"seed", 1}}},
     "n x m with every entry stored",
     [](const auto& ctx, const auto& v) {
       return dense<T, I, O>(ctx, v[0], v[1], static_cast<std::uint64_t>(v[2]));
     }},
    {"arrow",
     {{{"n", 100000}, {"seed", 1}}},
     "first row, first column and diagonal",
     [](const auto& ctx, const auto& v) {
       return arrow<T, I, O>(ctx, v[0], static_cast<std::uint64_t>(v[1]));
     }},
    {"uniform",
     {{{"rows", 100000}, {"cols", 0}, {"per_row", 16}, {"seed", 1}}},
     "per_row entries in every row, spread over the columns (cols=0: as many as rows)",
     [](const auto& ctx, const auto& v) {
       return uniform<T, I, O>(ctx, v[0], v[1] != 0 ? v[1] : v[0], v[2],
                               static_cast<std::uint64_t>(v[3]));
     }},
    {"rmat",
     {{{"scale", 16}, {"edges", 16}, {"seed", 1}}},
     "R-MAT graph of 2^scale vertices with `edges` edges a vertex, directed",
     [](const auto& ctx, const auto& v) {
       return rmat<T, I, O>(ctx, v[0], v[1], static_cast<std::uint64_t>(v[2]));
     }},
    {"kron",
     {{{"scale", 16}, {"edges", 16}, {"seed", 1}}},
     "the same, made symmetric",
     [](const auto& ctx, const auto& v) {
       return kron<T, I, O>(ctx, v[0], v[1], static_cast<std::uint64_t>(v[2]));
     }},
    {"circuit",
     {{{"n", 100000}, {"seed", 1}}},
     "four or five entries a row near the diagonal, four rows and columns of n / 10",
     [](const auto& ctx, const auto& v) {
       return circuit<T, I, O>(ctx, v[0], static_cast<std::uint64_t>(v[1]));
     }},
};

std::string with_defaults(const parameters& p) {
  std::string text;
  for (const auto& [name, value] : p)
    if (!name.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

std::string all_names() {
  std::string text;
  for (const auto& g : generators()) text += (text.empty() ? "" : ", ") + g.name;
  return text;
}

/// Defaults overridden by "key=value,key=value".
arguments parse(std::string_view name, const parameters& defaults, std::string_view text) {
  arguments result{};
  for (std::size_t p = 0; p < defaults.size(); ++p) result[p] = defaults[p].value;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    const auto key = item.substr(0, equals);
    std::size_t p = 0;
    while (p < defaults.size() && (key.empty() || defaults[p].name != key)) ++p;
    if (p == defaults.size())
      throw bad_input(
          fmt::format("{}: no parameter '{}'; there are {}", name, key, with_defaults(defaults)));
    const auto number = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
    const char* const end = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), end, result[p]);
    if (parsed.ec != std::errc{} || parsed.ptr != end || result[p] < 0)
      throw bad_input(
          fmt::format("{}: {}='{}' is not a whole number from 0 to 2^63 - 1", name, key, number));
  }
  return result;
}

} // namespace

std::vector<description> generators() {
  std::vector<description> result;
  for (const auto& g : table<double, index_t, index_t>)
    result.push_back({std::string(g.name), with_defaults(g.defaults), std::string(g.summary)});
  return result;
}

template <class T, class I, class O>
csr<T, I, O> generate(const host_context& ctx, std::string_view spec) {
  const auto name = spec.substr(0, spec.find(':'));
  spec.remove_prefix(std::min(spec.size(), name.size() + 1));
  for (const auto& g : table<T, I, O>)
    if (g.name == name) return g.make(ctx, parse(name, g.defaults, spec));
  throw bad_input(fmt::format("no generator '{}'; there are {}", name, all_names()));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> generate(const host_context&, std::string_view);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
