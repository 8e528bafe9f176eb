#include "reference/reference.hpp"

#include <map>
#include <utility>

namespace lacuna::reference {
namespace {

using coordinate = std::pair<std::int64_t, std::int64_t>;

/// The sum of each coordinate's values, rounded to T after every step.
template <class T> std::map<coordinate, T> summed(const triplets& a) {
  std::map<coordinate, T> result;
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    const auto value = static_cast<T>(a.value[k]);
    const auto [at, is_new] = result.try_emplace({a.row[k], a.col[k]}, value);
    if (!is_new) at->second = static_cast<T>(at->second + value);
  }
  return result;
}

} // namespace

template <class T> triplets add(double alpha, const triplets& a, double beta, const triplets& b) {
  auto sum = summed<T>(a);
  for (auto& [at, value] : sum) value = static_cast<T>(static_cast<T>(alpha) * value);
  for (const auto& [at, value] : summed<T>(b)) {
    const auto right = static_cast<T>(static_cast<T>(beta) * value);
    const auto [place, is_new] = sum.try_emplace(at, right);
    if (!is_new) place->second = static_cast<T>(place->second + right);
  }
  triplets result{a.shape, {}, {}, {}};
  for (const auto& [at, value] : sum) {
    result.row.push_back(at.first);
    result.col.push_back(at.second);
    result.value.push_back(static_cast<double>(value));
  }
  return result;
}

template triplets add<float>(double, const triplets&, double, const triplets&);
template triplets add<double>(double, const triplets&, double, const triplets&);

} // namespace lacuna::reference
