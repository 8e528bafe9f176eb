// Bytes of files that no program would write, and what must come of them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>
#include <lacuna/lacuna.hpp>

#include "io/files.hpp"
#include "io/same.hpp"
#include "support/engine.hpp"

namespace lacuna::test {

/// The numbers' bytes, in the order of this machine or the other.
template <class U> std::string bytes_of(const std::vector<U>& numbers, bool swapped = false) {
  std::string result;
  for (const U u : numbers) {
    std::string bytes(reinterpret_cast<const char*>(&u), sizeof(U));
    result += swapped ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  }
  return result;
}
template <class U> std::string byte_of(U number) { return bytes_of(std::vector<U>{number}); }

/// `text` with one part replaced, which must be there.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "nothing to replace: " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Reading fails as E with these words, for float and double, and takes little memory.
template <class E = bad_input>
void expect_refused(const std::string& file, const std::string& words,
                    const io::read_options& options = {}) {
  SCOPED_TRACE(words);
  const auto attempt = [&](auto read) {
    const auto before = memory(space::host).in_use;
    reset_memory_peak(space::host);
    try {
      read();
      ADD_FAILURE() << "was read";
    } catch (const E& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      EXPECT_TRUE(e.file().starts_with(file)) << e.what();
    } catch (const error& e) {
      ADD_FAILURE() << e.kind() << ": " << e.what();
    }
    EXPECT_EQ(memory(space::host).in_use, before);
    EXPECT_LT(memory(space::host).peak - before, 1 << 20);
  };
  attempt([&] { io::read<double>(host_engine::context(), file, options); });
  attempt([&] { io::read<float>(host_engine::context(), file, options); });
}

/// Every matrix of the battery comes back from a file with the same bits, sorted and with
/// duplicates summed.
template <class C> void expect_round_trips(const std::string& ending) {
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  const scratch_folder folder;
  C::for_each_matrix([&](const triplets& m) {
    const auto a = make_csr<T, I, O>(m);
    io::write(C::context(), folder / ("a" + ending), a);
    const auto b = io::read_csr<T, I, O>(C::context(), folder / ("a" + ending));
    expect_same(merge_duplicates(C::context(), a), b);
    check(C::context(), b);
  });
}

using host_configs = internal::all_on<host_engine>;

} // namespace lacuna::test
