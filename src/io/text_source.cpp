#include "io/text_source.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

/// Text and the entries parsed from it stay in a core's cache.
constexpr std::size_t block_bytes = std::size_t{1} << 18;
/// Streams: a line without an end must not fill the memory. Lines of a table have some 100 bytes.
constexpr std::size_t line_limit = std::size_t{1} << 24;

/// Appends the newline that the file's last line lacks.
void close_last_line(text_block& block, std::string_view text) {
  std::vector<char> copy(text.begin(), text.end());
  copy.push_back('\n');
  block.storage = std::move(copy);
  block.text = {block.storage.data(), block.storage.size()};
}

} // namespace

bool text_source::next(text_block& block) {
  return stream_ ? next_from_stream(block) : next_slice(block);
}

bool text_source::next_slice(text_block& block) {
  if (position_ == file_.size()) return false;
  const std::string_view rest(file_.data() + position_, file_.size() - position_);
  // The first line end from block_bytes on; memchr is several times faster than find.
  const void* end = nullptr;
  if (rest.size() > block_bytes)
    end = std::memchr(rest.data() + block_bytes, '\n', rest.size() - block_bytes);
  const std::size_t size =
      end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - rest.data()) + 1
                     : rest.size();
  position_ += size;
  block.consumed = static_cast<std::int64_t>(position_);
  block.text = rest.substr(0, size);
  if (block.text.back() != '\n') close_last_line(block, block.text);
  return true;
}

bool text_source::next_from_stream(text_block& block) {
  auto& buffer = block.storage;
  buffer.assign(rest_.begin(), rest_.end());
  rest_.clear();
  while (true) {
    const std::size_t before = buffer.size();
    buffer.resize(before + block_bytes);
    const std::size_t got = stream_->read(buffer.data() + before, block_bytes);
    buffer.resize(before + got);
    block.consumed = stream_->consumed();
    if (got == 0) {
      if (buffer.empty()) return false;
      if (buffer.back() != '\n') buffer.push_back('\n');
      block.text = {buffer.data(), buffer.size()};
      return true;
    }
    const void* const last = ::memrchr(buffer.data() + before, '\n', got);
    if (last != nullptr) {
      const auto size =
          static_cast<std::size_t>(static_cast<const char*>(last) - buffer.data()) + 1;
      rest_.assign(buffer.begin() + static_cast<std::ptrdiff_t>(size), buffer.end());
      block.text = {buffer.data(), size};
      return true;
    }
    if (buffer.size() > line_limit)
      throw bad_input(fmt::format("a line of more than {} bytes", line_limit), name_, 0);
  }
}

void text_source::done_with(std::int64_t consumed) {
  constexpr std::int64_t step = std::int64_t{1} << 24; // system calls cost, too
  if (mapped_ == nullptr || consumed - released_ < step) return;
  mapped_->done_with(static_cast<std::size_t>(released_), static_cast<std::size_t>(consumed));
  released_ = consumed;
}

std::int64_t text_source::total_bytes() const {
  return stream_ ? stream_->total() : static_cast<std::int64_t>(file_.size());
}

std::int64_t text_source::text_bound() const {
  return stream_ ? 0 : static_cast<std::int64_t>(file_.size());
}

} // namespace lacuna::io
