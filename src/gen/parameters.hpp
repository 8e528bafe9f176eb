// Parameters of a generator: what may be written after its name, and what was.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::gen {

/// A number that is whole or a fraction; the fields of the other kind are unused.
struct parameter {
  std::string_view name;
  bool whole = true;
  std::int64_t value = 0, least = 0, most = 0;
  double real_value = 0, real_least = 0, real_most = 0;
  std::string_view same_as = {}; ///< the parameter whose value it has unless it is given
  bool given = false;
};

constexpr parameter whole(std::string_view name, std::int64_t value, std::int64_t least,
                          std::int64_t most) {
  return {name, true, value, least, most};
}
constexpr parameter real(std::string_view name, double value, double least, double most) {
  return {name, false, 0, 0, 0, value, least, most};
}
/// A second size: that of `other` unless it is given.
constexpr parameter whole_as(std::string_view name, std::string_view other, std::int64_t least,
                             std::int64_t most) {
  parameter p = whole(name, 0, least, most);
  p.same_as = other;
  return p;
}
inline constexpr parameter seed_parameter =
    whole("seed", 1, 0, std::numeric_limits<std::int64_t>::max());

/// A generator's parameters with their values.
class arguments {
public:
  /// Defaults overridden by "key=value,key=value". Throws bad_input that names the generator, the
  /// parameter and what is allowed.
  arguments(std::string_view generator, std::vector<parameter> defaults, std::string_view text);

  [[nodiscard]] std::int64_t operator[](std::string_view name) const { return find(name).value; }
  [[nodiscard]] double real(std::string_view name) const { return find(name).real_value; }
  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>((*this)["seed"]); }
  /// Whether the parameter is `second`; throws bad_input if it is neither.
  [[nodiscard]] bool second_of(std::string_view name, std::int64_t first,
                               std::int64_t second) const;
  [[nodiscard]] std::string_view generator() const { return generator_; }

private:
  [[nodiscard]] const parameter& find(std::string_view name) const;

  std::string_view generator_;
  std::vector<parameter> values_;
};

/// "n=512,points=5", or "n=1000,m=n": arguments() reads both.
std::string to_text(const std::vector<parameter>& parameters);

/// The name that is fewest changes of a letter away from what was typed; empty if none is near.
std::string_view closest(std::string_view typed, const std::vector<std::string_view>& names);

} // namespace lacuna::gen
