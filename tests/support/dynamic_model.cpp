#include "support/dynamic_model.hpp"

#include <numeric>

#include <fmt/format.h>

namespace lacuna::test {

triplets dynamic_model::random_batch(std::int64_t size, bool hub, std::int64_t more) {
  triplets batch{"batch", rows_ + more, cols_ + more, {}, {}, {}};
  const std::int64_t hit = random_.below(batch.rows);
  for (std::int64_t k = 0; k < size; ++k)
    batch.add(hub && k % 3 != 0 ? hit : random_.below(batch.rows), random_.below(batch.cols),
              static_cast<double>(1 + random_.below(9)));
  return batch;
}

triplets dynamic_model::some_entries(std::int64_t of) {
  triplets batch{"some", rows_, cols_, {}, {}, {}};
  for (const auto& [at, value] : entries_)
    if (random_.below(of) == 0) batch.add(at.first, at.second, value);
  return batch;
}

std::vector<std::int64_t> dynamic_model::random_rows(std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(rows_));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  count = std::min(count, rows_);
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(i + random_.below(rows_ - i))]);
  rows.resize(static_cast<std::size_t>(count));
  return rows;
}

std::int64_t dynamic_model::insert(const triplets& batch, existing rule) {
  std::int64_t inserted = 0;
  for (std::int64_t k = 0; k < batch.size(); ++k) {
    const auto [at, is_new] = entries_.try_emplace({batch.row[k], batch.col[k]}, batch.value[k]);
    inserted += is_new ? 1 : 0;
    if (is_new) continue;
    if (rule == existing::add || rule == existing::append) at->second += batch.value[k];
    if (rule == existing::replace) at->second = batch.value[k];
  }
  rows_ = std::max(rows_, batch.rows);
  cols_ = std::max(cols_, batch.cols);
  return inserted;
}

std::int64_t dynamic_model::erase(const triplets& batch) {
  std::int64_t erased = 0;
  for (std::int64_t k = 0; k < batch.size(); ++k)
    erased += static_cast<std::int64_t>(entries_.erase({batch.row[k], batch.col[k]}));
  return erased;
}

std::int64_t dynamic_model::erase_rows(const std::vector<std::int64_t>& rows) {
  const std::int64_t before = size();
  for (const std::int64_t row : rows)
    entries_.erase(entries_.lower_bound({row, 0}), entries_.lower_bound({row + 1, 0}));
  return before - size();
}

std::int64_t dynamic_model::erase_columns(const std::vector<std::int64_t>& cols) {
  return static_cast<std::int64_t>(std::erase_if(entries_, [&](const auto& e) {
    return std::find(cols.begin(), cols.end(), e.first.second) != cols.end();
  }));
}

void dynamic_model::scale_rows(const std::vector<double>& factors) {
  for (auto& [at, value] : entries_) value *= factors[static_cast<std::size_t>(at.first)];
}

std::int64_t dynamic_model::replace_rows(const std::vector<std::int64_t>& rows, const triplets& b) {
  erase_rows(rows);
  triplets named{"rows", rows_, cols_, b.row, b.col, b.value};
  for (std::int64_t& row : named.row) row = rows[static_cast<std::size_t>(row)];
  return insert(named, existing::add);
}

const double* dynamic_model::find(std::int64_t row, std::int64_t col) const {
  const auto at = entries_.find({row, col});
  return at == entries_.end() ? nullptr : &at->second;
}

std::vector<std::int64_t> dynamic_model::row_sizes() const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rows_));
  for (const auto& [at, value] : entries_) ++sizes[static_cast<std::size_t>(at.first)];
  return sizes;
}

template <class T, class I, class O>
std::string dynamic_model::difference(const csr<T, I, O>& a) const {
  if (a.shape().row != rows_ || a.shape().col != cols_)
    return fmt::format("{} x {} instead of {} x {}", a.shape().row, a.shape().col, rows_, cols_);
  if (a.size() != size()) return fmt::format("{} entries instead of {}", a.size(), size());
  auto want = entries_.begin();
  for (std::int64_t row = 0; row < rows_; ++row)
    for (O k = a.rowptr()[row]; k < a.rowptr()[row + 1]; ++k, ++want)
      if (want->first != std::pair(row, std::int64_t{a.colind()[k]}) ||
          static_cast<T>(want->second) != a.values()[k])
        return fmt::format("({}, {}) is {} where ({}, {}) is {}", row, a.colind()[k], a.values()[k],
                           want->first.first, want->first.second, want->second);
  return {};
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template std::string dynamic_model::difference(const csr<T, I, O>&) const;
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::test
