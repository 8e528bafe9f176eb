#include "gen/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::gen {
namespace {

template <class Number>
bool read(std::string_view text, Number least, Number most, Number& result) {
  const char* const end = text.data() + text.size();
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || !(number >= least && number <= most)) return false;
  result = number;
  return true;
}

std::string allowed(const parameter& p) {
  return p.whole ? fmt::format("a whole number from {} to {}", p.least, p.most)
                 : fmt::format("a number from {} to {}", p.real_least, p.real_most);
}

std::int64_t letter_changes(std::string_view a, std::string_view b) {
  std::vector<std::int64_t> cost(b.size() + 1); // from a's beginning to each beginning of b
  std::iota(cost.begin(), cost.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t diagonal = cost[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = cost[j + 1];
      cost[j + 1] = std::min({change, cost[j] + 1, diagonal + 1});
    }
  }
  return cost.back();
}

} // namespace

arguments::arguments(std::string_view generator, std::vector<parameter> defaults,
                     std::string_view text)
    : generator_(generator), values_(std::move(defaults)) {
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    const auto key = item.substr(0, equals);
    const auto p = std::ranges::find(values_, key, &parameter::name);
    if (p == values_.end())
      throw bad_input(
          fmt::format("{}: no parameter '{}'; there are {}", generator, key, to_text(values_)));
    const auto number = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
    p->given = p->same_as.empty() || number != p->same_as;
    if (!p->given) continue;
    if (!(p->whole ? read(number, p->least, p->most, p->value)
                   : read(number, p->real_least, p->real_most, p->real_value)))
      throw bad_input(fmt::format("{}: {}='{}' is not {}", generator, key, number, allowed(*p)));
  }
  for (auto& p : values_)
    if (!p.same_as.empty() && !p.given) p.value = find(p.same_as).value;
}

bool arguments::second_of(std::string_view name, std::int64_t first, std::int64_t second) const {
  const std::int64_t value = (*this)[name];
  if (value != first && value != second)
    throw bad_input(
        fmt::format("{}: {}='{}' is not {} or {}", generator_, name, value, first, second));
  return value == second;
}

const parameter& arguments::find(std::string_view name) const {
  const auto p = std::ranges::find(values_, name, &parameter::name);
  if (p == values_.end())
    throw std::logic_error(fmt::format("{} has no parameter {}", generator_, name));
  return *p;
}

std::string to_text(const std::vector<parameter>& parameters) {
  std::string text;
  for (const auto& p : parameters) {
    text += fmt::format("{}{}=", text.empty() ? "" : ",", p.name);
    if (!p.same_as.empty() && !p.given)
      text += p.same_as;
    else
      text += p.whole ? fmt::format("{}", p.value) : fmt::format("{}", p.real_value);
  }
  return text;
}

std::string_view closest(std::string_view typed, const std::vector<std::string_view>& names) {
  std::string_view best;
  auto fewest = static_cast<std::int64_t>(typed.size() / 2) + 1; // half its letters may be wrong
  if (typed.size() > 100) return best; // not a slip of the finger, and quadratic time
  for (const auto name : names)
    if (const auto changes = letter_changes(typed, name); changes < fewest) {
      fewest = changes;
      best = name;
    }
  return best;
}

} // namespace lacuna::gen
