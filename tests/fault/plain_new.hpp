// Watches the memory that the allocation hook cannot see: plain `new`, hence std::vector. Arrays
// use the aligned form and do not pass here.
#pragma once

#include <atomic>
#include <cstddef>

namespace lacuna::test {
extern std::atomic<std::size_t> largest_plain_new; ///< bytes; tests set it back to 0
} // namespace lacuna::test
