#include "read_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lacuna::fuzz::read_bytes(data, size, lacuna::io::read_npy<double>);
  return 0;
}
