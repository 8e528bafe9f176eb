#include "io/byte_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#ifdef LACUNA_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef LACUNA_HAS_ZSTD
#include <zstd.h>
#endif

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

class input_stream : public byte_stream {
public:
  std::size_t read(char* to, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(STDIN_FILENO, to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        throw bad_input(std::string("cannot read: ") + std::strerror(errno), "standard input", 0);
      consumed_ += got;
      return static_cast<std::size_t>(got);
    }
  }
  [[nodiscard]] std::int64_t consumed() const override { return consumed_; }
  [[nodiscard]] std::int64_t total() const override { return 0; }

private:
  std::int64_t consumed_ = 0;
};

class bytes_stream : public byte_stream {
public:
  explicit bytes_stream(std::span<const char> bytes) : bytes_(bytes) {}
  std::size_t read(char* to, std::size_t size) override {
    const std::size_t done = std::min(size, bytes_.size() - position_);
    std::copy_n(bytes_.data() + position_, done, to);
    position_ += done;
    return done;
  }
  [[nodiscard]] std::int64_t consumed() const override {
    return static_cast<std::int64_t>(position_);
  }
  [[nodiscard]] std::int64_t total() const override {
    return static_cast<std::int64_t>(bytes_.size());
  }

private:
  std::span<const char> bytes_;
  std::size_t position_ = 0;
};

#ifdef LACUNA_HAS_ZLIB
/// One or several gzip members, as gunzip takes them; zeros behind the last are padding.
class gzip_stream : public byte_stream {
public:
  gzip_stream(std::span<const char> file, std::string name) : file_(file), name_(std::move(name)) {
    if (inflateInit2(&z_, 15 + 16) != Z_OK) throw out_of_memory("gzip", sizeof z_);
  }
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;
  ~gzip_stream() override { inflateEnd(&z_); }

  std::size_t read(char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size && !ended_) {
      if (z_.avail_in == 0) feed();
      z_.next_out = reinterpret_cast<Bytef*>(to + done);
      z_.avail_out = static_cast<uInt>(std::min<std::size_t>(size - done, 1U << 30));
      const uInt before = z_.avail_out;
      const int status = inflate(&z_, Z_NO_FLUSH);
      done += before - z_.avail_out;
      if (status == Z_STREAM_END)
        next_member();
      else if (status != Z_OK)
        fail(status == Z_BUF_ERROR ? "ends in the middle of its gzip data"
             : z_.msg != nullptr   ? z_.msg
                                   : "broken gzip data");
    }
    return done;
  }
  [[nodiscard]] std::int64_t consumed() const override {
    return static_cast<std::int64_t>(position_ - z_.avail_in);
  }
  [[nodiscard]] std::int64_t total() const override {
    return static_cast<std::int64_t>(file_.size());
  }

private:
  void feed() {
    const std::size_t size = std::min<std::size_t>(file_.size() - position_, 1U << 30);
    // zlib's interface predates const.
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file_.data() + position_));
    z_.avail_in = static_cast<uInt>(size);
    position_ += size;
  }
  void next_member() {
    const auto rest = file_.subspan(static_cast<std::size_t>(consumed()));
    if (compression_of(rest) == compression::gzip) {
      inflateReset(&z_);
      return;
    }
    ended_ = true;
    if (!std::ranges::all_of(rest, [](char c) { return c == 0; }))
      fail("has other bytes behind its gzip data");
  }
  [[noreturn]] void fail(const char* why) const {
    throw bad_input(fmt::format("{} (at byte {} of {})", why, consumed(), file_.size()), name_, 0);
  }

  std::span<const char> file_;
  std::string name_;
  z_stream z_{};
  std::size_t position_ = 0;
  bool ended_ = false;
};
#endif

#ifdef LACUNA_HAS_ZSTD
/// One or several frames.
class zstd_stream : public byte_stream {
public:
  zstd_stream(std::span<const char> file, std::string name)
      : file_(file), name_(std::move(name)), z_(ZSTD_createDStream()) {
    if (!z_) throw out_of_memory("zstd", 1 << 17);
    in_ = {file_.data(), file_.size(), 0};
  }
  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos < out.size) {
      if (in_.pos == in_.size && frame_ended_) break;
      const std::size_t in_before = in_.pos, out_before = out.pos;
      const std::size_t status = ZSTD_decompressStream(z_.get(), &out, &in_);
      if (ZSTD_isError(status) != 0) fail(ZSTD_getErrorName(status));
      frame_ended_ = status == 0;
      if (!frame_ended_ && in_.pos == in_before && out.pos == out_before)
        fail("ends in the middle of its zstd data");
    }
    return out.pos;
  }
  [[nodiscard]] std::int64_t consumed() const override {
    return static_cast<std::int64_t>(in_.pos);
  }
  [[nodiscard]] std::int64_t total() const override {
    return static_cast<std::int64_t>(file_.size());
  }

private:
  [[noreturn]] void fail(const char* why) const {
    throw bad_input(fmt::format("{} (at byte {} of {})", why, consumed(), file_.size()), name_, 0);
  }
  struct release {
    void operator()(ZSTD_DStream* z) const { ZSTD_freeDStream(z); }
  };

  std::span<const char> file_;
  std::string name_;
  std::unique_ptr<ZSTD_DStream, release> z_;
  ZSTD_inBuffer in_{};
  bool frame_ended_ = false;
};
#endif

[[noreturn, maybe_unused]] void throw_missing(const std::string& name, const char* what,
                                              const char* package) {
  throw unsupported(fmt::format("{}: {} is not part of this build: install {} and build again",
                                name, what, package));
}

} // namespace

compression compression_of(std::span<const char> file) {
  const auto starts = [&](std::string_view magic) {
    return std::string_view(file.data(), file.size()).starts_with(magic);
  };
  if (starts("\x1f\x8b")) return compression::gzip;
  if (starts("\x28\xb5\x2f\xfd")) return compression::zstd;
  return compression::none;
}

std::unique_ptr<byte_stream> decompress(std::span<const char> file, const std::string& name) {
  if (compression_of(file) == compression::gzip) {
#ifdef LACUNA_HAS_ZLIB
    return std::make_unique<gzip_stream>(file, name);
#else
    throw_missing(name, "gzip", "zlib1g-dev");
#endif
  }
#ifdef LACUNA_HAS_ZSTD
  return std::make_unique<zstd_stream>(file, name);
#else
  throw_missing(name, "zstd", "libzstd-dev");
#endif
}

std::unique_ptr<byte_stream> standard_input() { return std::make_unique<input_stream>(); }
std::unique_ptr<byte_stream> memory_stream(std::span<const char> bytes) {
  return std::make_unique<bytes_stream>(bytes);
}

} // namespace lacuna::io
