// All that a block tree is made of, as bytes.
#pragma once

#include <vector>

#include <lacuna/format/block_tree.hpp>

namespace lacuna::test {

/// Pool and lists, of a tree in any space.
template <class Tree> std::vector<unsigned char> bytes_of(const Tree& tree) {
  std::vector<unsigned char> all;
  const auto copy = copy_to(host_context(), tree);
  const auto append = [&](const auto& a) {
    const auto* const first = reinterpret_cast<const unsigned char*>(a.data());
    all.insert(all.end(), first, first + a.bytes());
  };
  const auto& c = *copy.content();
  append(c.pool), append(c.items), append(c.by_column), append(c.row_tasks), append(c.column_tasks);
  return all;
}

} // namespace lacuna::test
