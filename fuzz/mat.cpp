// Level 5; version 7.3 has a fuzzer of its own, since HDF5 has faults that would hide ours.
#include "read_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lacuna::fuzz::read_bytes(data, size, lacuna::io::read_mat5<double>);
  return 0;
}
