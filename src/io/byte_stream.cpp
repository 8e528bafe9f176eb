#include "io/byte_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#ifdef LACUNA_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef LACUNA_HAS_ZSTD
#include <zstd.h>
#endif
#ifdef LACUNA_HAS_BZIP2
#include <bzlib.h>
#endif

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

class file_stream : public byte_stream {
public:
  file_stream(const std::string& path, std::string name) : name_(std::move(name)) {
    fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail();
  }
  file_stream(const file_stream&) = delete;
  file_stream& operator=(const file_stream&) = delete;
  ~file_stream() override {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }
  std::size_t read(char* to, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(fd_, to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      consumed_ += got;
      return static_cast<std::size_t>(got);
    }
  }
  [[nodiscard]] std::int64_t consumed() const override { return consumed_; }
  [[nodiscard]] std::int64_t total() const override { return 0; }

private:
  [[noreturn]] void fail() const {
    throw bad_input(std::string("cannot read: ") + std::strerror(errno), name_, 0);
  }

  std::string name_;
  int fd_ = -1;
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

/// What decompressors share: packed bytes in a buffer, of which they use up the front.
class unpacking_stream : public byte_stream {
public:
  unpacking_stream(std::unique_ptr<byte_stream> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)) {}
  [[nodiscard]] std::int64_t consumed() const override {
    return packed_->consumed() - static_cast<std::int64_t>(end_ - begin_);
  }
  [[nodiscard]] std::int64_t total() const override { return packed_->total(); }

protected:
  [[nodiscard]] std::span<char> ready() { return {buffer_.data() + begin_, end_ - begin_}; }
  void use(std::size_t bytes) { begin_ += bytes; }
  /// At least `size` bytes are ready, unless there are no more.
  bool have(std::size_t size) {
    if (end_ - begin_ >= size) return true;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < size) {
      const std::size_t got = packed_->read(buffer_.data() + end_, buffer_.size() - end_);
      if (got == 0) return false;
      end_ += got;
    }
    return true;
  }
  /// Zeros may pad the end of a file; whatever else is there is a fault.
  void expect_padding(const char* what) {
    while (have(1)) {
      if (!std::ranges::all_of(ready(), [](char c) { return c == 0; }))
        fail(fmt::format("has other bytes behind its {} data", what));
      use(ready().size());
    }
  }
  [[noreturn]] void fail(const std::string& why) const {
    const std::string all = total() > 0 ? fmt::format(" of {}", total()) : "";
    throw bad_input(fmt::format("{} (at byte {}{})", why, consumed(), all), name_, 0);
  }

private:
  std::unique_ptr<byte_stream> packed_;
  std::string name_;
  std::array<char, std::size_t{1} << 16> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

#ifdef LACUNA_HAS_ZLIB
/// One or several gzip members, as gunzip takes them; zeros behind the last are padding.
class gzip_stream : public unpacking_stream {
public:
  gzip_stream(std::unique_ptr<byte_stream> packed, const std::string& name)
      : unpacking_stream(std::move(packed), name) {
    if (inflateInit2(&z_, 15 + 16) != Z_OK) throw out_of_memory("gzip", sizeof z_);
  }
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;
  ~gzip_stream() override { inflateEnd(&z_); }

  std::size_t read(char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size && !ended_) {
      have(1);
      z_.next_in = reinterpret_cast<Bytef*>(ready().data());
      z_.avail_in = static_cast<uInt>(ready().size());
      z_.next_out = reinterpret_cast<Bytef*>(to + done);
      z_.avail_out = static_cast<uInt>(std::min<std::size_t>(size - done, 1U << 30));
      const uInt before = z_.avail_out;
      const int status = inflate(&z_, Z_NO_FLUSH);
      use(ready().size() - z_.avail_in);
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

private:
  void next_member() {
    if (have(2) && compression_of(ready()) == compression::gzip) {
      inflateReset(&z_);
      return;
    }
    expect_padding("gzip");
    ended_ = true;
  }

  z_stream z_{};
  bool ended_ = false;
};
#endif

#ifdef LACUNA_HAS_ZSTD
/// One or several frames; skippable ones hold no data.
class zstd_stream : public unpacking_stream {
public:
  zstd_stream(std::unique_ptr<byte_stream> packed, const std::string& name)
      : unpacking_stream(std::move(packed), name), z_(ZSTD_createDStream()) {
    if (!z_) throw out_of_memory("zstd", 1 << 17);
  }
  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos < out.size) {
      if (!have(1) && frame_ended_) break;
      ZSTD_inBuffer in{ready().data(), ready().size(), 0};
      const std::size_t before = out.pos;
      const std::size_t status = ZSTD_decompressStream(z_.get(), &out, &in);
      if (ZSTD_isError(status) != 0) fail(ZSTD_getErrorName(status));
      use(in.pos);
      frame_ended_ = status == 0;
      if (!frame_ended_ && in.pos == 0 && out.pos == before)
        fail("ends in the middle of its zstd data");
    }
    return out.pos;
  }

private:
  struct release {
    void operator()(ZSTD_DStream* z) const { ZSTD_freeDStream(z); }
  };

  std::unique_ptr<ZSTD_DStream, release> z_;
  bool frame_ended_ = false;
};
#endif

#ifdef LACUNA_HAS_BZIP2
/// One or several streams, as bunzip2 takes them.
class bzip2_stream : public unpacking_stream {
public:
  bzip2_stream(std::unique_ptr<byte_stream> packed, const std::string& name)
      : unpacking_stream(std::move(packed), name) {
    start();
  }
  bzip2_stream(const bzip2_stream&) = delete;
  bzip2_stream& operator=(const bzip2_stream&) = delete;
  ~bzip2_stream() override { BZ2_bzDecompressEnd(&z_); }

  std::size_t read(char* to, std::size_t size) override {
    std::size_t done = 0;
    while (done < size && !ended_) {
      const bool more = have(1);
      z_.next_in = ready().data();
      z_.avail_in = static_cast<unsigned>(ready().size());
      z_.next_out = to + done;
      z_.avail_out = static_cast<unsigned>(std::min<std::size_t>(size - done, 1U << 30));
      const unsigned before = z_.avail_out;
      const int status = BZ2_bzDecompress(&z_);
      use(ready().size() - z_.avail_in);
      const std::size_t got = before - z_.avail_out;
      done += got;
      if (status == BZ_STREAM_END)
        next_stream();
      else if (status == BZ_MEM_ERROR)
        throw out_of_memory("bzip2", 1 << 22);
      else if (status != BZ_OK)
        fail("broken bzip2 data");
      else if (!more && got == 0)
        fail("ends in the middle of its bzip2 data");
    }
    return done;
  }

private:
  void start() {
    if (BZ2_bzDecompressInit(&z_, 0, 0) != BZ_OK) throw out_of_memory("bzip2", 1 << 22);
  }
  void next_stream() {
    if (have(4) && compression_of(ready()) == compression::bzip2) {
      BZ2_bzDecompressEnd(&z_);
      z_ = {};
      start();
      return;
    }
    expect_padding("bzip2");
    ended_ = true;
  }

  bz_stream z_{};
  bool ended_ = false;
};
#endif

[[noreturn, maybe_unused]] void throw_missing(const std::string& name, const char* what,
                                              const char* package) {
  throw unsupported(
      fmt::format("{} is not part of this build: install {} and build again", what, package), name,
      0);
}

} // namespace

std::span<const char> peeked_stream::peek(std::size_t size) {
  while (first_.size() < size) {
    const std::size_t before = first_.size();
    first_.resize(size);
    const std::size_t got = from_->read(first_.data() + before, size - before);
    first_.resize(before + got);
    if (got == 0) break;
  }
  return first_;
}

std::size_t peeked_stream::read(char* to, std::size_t size) {
  if (position_ == first_.size()) return from_->read(to, size);
  const std::size_t done = std::min(size, first_.size() - position_);
  std::copy_n(first_.data() + position_, done, to);
  position_ += done;
  return done;
}

compression compression_of(std::span<const char> file) {
  const std::string_view all(file.data(), file.size());
  if (all.starts_with("\x1f\x8b")) return compression::gzip;
  if (all.starts_with("\x28\xb5\x2f\xfd")) return compression::zstd;
  // A frame to be skipped, such as pzstd begins with.
  if (all.size() >= 4 && (all[0] & 0xf0) == 0x50 && all.substr(1).starts_with("\x2a\x4d\x18"))
    return compression::zstd;
  if (all.size() >= 4 && all.starts_with("BZh") && all[3] >= '1' && all[3] <= '9')
    return compression::bzip2;
  return compression::none;
}

std::unique_ptr<byte_stream> decompress(std::unique_ptr<byte_stream> packed, compression c,
                                        const std::string& name) {
  switch (c) {
  case compression::none: return packed;
  case compression::gzip:
#ifdef LACUNA_HAS_ZLIB
    return std::make_unique<gzip_stream>(std::move(packed), name);
#else
    throw_missing(name, "gzip", "zlib1g-dev");
#endif
  case compression::zstd:
#ifdef LACUNA_HAS_ZSTD
    return std::make_unique<zstd_stream>(std::move(packed), name);
#else
    throw_missing(name, "zstd", "libzstd-dev");
#endif
  case compression::bzip2: break;
  }
#ifdef LACUNA_HAS_BZIP2
  return std::make_unique<bzip2_stream>(std::move(packed), name);
#else
  throw_missing(name, "bzip2", "libbz2-dev");
#endif
}

std::unique_ptr<byte_stream> decompress(std::span<const char> packed, const std::string& name) {
  return decompress(memory_stream(packed), compression_of(packed), name);
}

std::unique_ptr<byte_stream> open_stream(const std::string& path, const std::string& name) {
  return std::make_unique<file_stream>(path, name);
}
std::unique_ptr<byte_stream> memory_stream(std::span<const char> bytes) {
  return std::make_unique<bytes_stream>(bytes);
}

} // namespace lacuna::io
