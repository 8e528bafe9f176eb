#include <lacuna/gen/generate.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "gen/table.hpp"

namespace lacuna::gen {
namespace {

struct named_source {
  std::string_view name;
  source from;
};

/// "name" or "name:key=value,key=value"
named_source find(std::string_view spec) {
  const auto name = spec.substr(0, spec.find(':'));
  spec.remove_prefix(std::min(spec.size(), name.size() + 1));
  const auto g = std::ranges::find(table(), name, &generator::name);
  if (g != table().end()) return {g->name, g->make(arguments(g->name, g->parameters, spec))};

  std::vector<std::string_view> names;
  for (const auto& known : table()) names.push_back(known.name);
  const auto near = closest(name, names);
  throw bad_input(
      fmt::format("no generator '{}'; {} {}", name,
                  near.empty() ? "there are" : fmt::format("did you mean '{}'? There are", near),
                  fmt::join(names, ", ")));
}

} // namespace

std::vector<description> generators() {
  std::vector<description> result;
  for (const auto& g : table())
    result.push_back({std::string(g.name), to_text(g.parameters), std::string(g.summary),
                      std::string(g.resembles)});
  return result;
}

size expected_size(std::string_view spec) { return find(spec).from.shape; }

template <class T, class I, class O>
csr<T, I, O> generate(const host_context& ctx, std::string_view spec) {
  const auto [name, from] = find(spec);
  return build<T, I, O>(ctx, name, from);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> generate(const host_context&, std::string_view);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
