// Tar archives, plain or compressed, whose first file is taken for a matrix; all are gone through.
#include "io/matrix_market.hpp"
#include "io/tar.hpp"
#include "read_bytes.hpp"

namespace {

/// The rest of an archive, beside what reads its files.
class current_file : public lacuna::io::byte_stream {
public:
  explicit current_file(lacuna::io::tar_stream& tar) : tar_(tar) {}
  std::size_t read(char* to, std::size_t size) override { return tar_.read(to, size); }
  [[nodiscard]] std::int64_t consumed() const override { return tar_.consumed(); }
  [[nodiscard]] std::int64_t total() const override { return tar_.total(); }

private:
  lacuna::io::tar_stream& tar_;
};

lacuna::io::file_triplets<double> read_archive(const lacuna::host_context& ctx,
                                               lacuna::io::bytes_view file, const std::string& name,
                                               const lacuna::io::read_options& options) {
  using namespace lacuna::io;
  tar_stream tar(decompress(file, name), name);
  do
    if (!tar.next()) throw lacuna::bad_input("nothing in it", name, 0);
  while (tar.path() == "skip");
  text_source source(std::make_unique<current_file>(tar), name);
  auto result = read_matrix_market<double>(ctx, source, name, options);
  while (tar.next()) {
  }
  return result;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lacuna::fuzz::read_bytes(data, size, read_archive);
  return 0;
}
