// Tar archives, plain or compressed, whose first file is taken for a matrix.
#include "io/matrix_market.hpp"
#include "io/tar.hpp"
#include "read_bytes.hpp"

namespace {

lacuna::io::file_triplets<double> read_archive(const lacuna::host_context& ctx,
                                               lacuna::io::bytes_view file, const std::string& name,
                                               const lacuna::io::read_options& options) {
  using namespace lacuna::io;
  auto bytes =
      compression_of(file) == compression::none ? memory_stream(file) : decompress(file, name);
  text_source source(
      open_in_tar(std::move(bytes), name, [](const std::string& path) { return path != "skip"; }),
      name);
  return read_matrix_market<double>(ctx, source, name, options);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lacuna::fuzz::read_bytes(data, size, read_archive);
  return 0;
}
