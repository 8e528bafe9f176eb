// lacuna info gen: what can be generated.
#include <algorithm>

#include "common/exit.hpp"
#include "lacuna/command.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::app {

int list_generators(const options& o) {
  json list = json::array();
  const auto generators = gen::generators();
  std::size_t width = 0;
  for (const auto& g : generators) width = std::max(width, g.name.size());
  if (!o.json && !o.quiet) print("Generated matrices: gen:NAME or gen:NAME:key=value,...\n\n");
  for (const auto& g : generators) {
    list.push_back({{"name", g.name},
                    {"parameters", g.parameters},
                    {"summary", g.summary},
                    {"resembles", g.resembles}});
    if (o.json) continue;
    if (o.quiet) {
      print("gen:{}\n", g.name);
      continue;
    }
    print("  {:<{}}  {}\n", g.name, width, g.parameters);
    print("  {:<{}}  {}\n", "", width, g.summary);
    if (!g.resembles.empty()) print("  {:<{}}  like {}\n", "", width, g.resembles);
  }
  if (o.json) print_json({{"command", "info"}, {"generators", list}});
  return exit_done;
}

} // namespace lacuna::app
