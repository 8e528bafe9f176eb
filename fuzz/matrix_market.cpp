// Text, and text in gzip, zstd or bzip2: the first bytes say which.
#include "io/matrix_market.hpp"
#include "read_bytes.hpp"

namespace {

lacuna::io::file_triplets<double> read_text(const lacuna::host_context& ctx,
                                            lacuna::io::bytes_view file, const std::string& name,
                                            const lacuna::io::read_options& options) {
  using namespace lacuna::io;
  if (compression_of(file) != compression::none) {
    text_source source(decompress(file, name), name);
    return read_matrix_market<double>(ctx, source, name, options);
  }
  text_source source(file);
  return read_matrix_market<double>(ctx, source, name, options);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lacuna::fuzz::read_bytes(data, size, read_text);
  return 0;
}
