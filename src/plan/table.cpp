#include "plan/table.hpp"

#include <fmt/format.h>

namespace lacuna {
namespace planning {

const std::vector<format_row>& format_table() {
  static const std::vector<format_row> table = []<class... F>(std::tuple<F...>) {
    return std::vector<format_row>{row_of<F>()...};
  }(formats{});
  return table;
}

const format_row& format_named(std::string_view name) {
  for (const format_row& row : format_table())
    if (row.name == name) return row;
  throw bad_input(fmt::format("'{}' is no format that plans know; they know {}", name,
                              planned_formats_in_words()));
}

plan_candidate offer_to::candidate(std::string_view format, std::string_view kernel, double bytes,
                                   const spmv_work& work, std::string why) const {
  plan_candidate c;
  c.format = format;
  c.kernel = kernel;
  c.bytes = bytes;
  c.work = work;
  c.why = std::move(why);
  const spmv_cost& cost = machine.of(kernel);
  c.seconds = cost.seconds(work);
  c.convert_seconds = cost.convert * csr_seconds;
  c.total_seconds = c.convert_seconds + hints.multiplies * c.seconds;
  return c;
}

} // namespace planning

std::vector<std::string> planned_formats() {
  std::vector<std::string> names;
  for (const auto& row : planning::format_table()) names.emplace_back(row.name);
  return names;
}

std::string planned_formats_in_words() {
  const std::vector<std::string> names = planned_formats();
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i)
    text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

} // namespace lacuna
