// Compression of one chunk of a file: gzip members and zstd frames may follow each other, so that
// chunks are compressed side by side.
#pragma once

#include <string>
#include <string_view>

#include "io/byte_stream.hpp"

namespace lacuna::io {

/// By the name's end: .gz, .zst. Throws unsupported, naming the package, if this build cannot.
compression packing_of_name(const std::string& path);

/// Replaces `packed` by the compressed text. Does not throw but bad_alloc.
void pack(std::string_view text, compression c, std::string& packed);

} // namespace lacuna::io
