// CRC-32C (Castagnoli), the checksum of iSCSI and ext4: it finds every burst of up to 32 bits, and
// misses other damage once in 2^32.
#pragma once

#include <cstdint>
#include <span>

namespace lacuna::io {

/// Of `bytes` behind those that gave `before`; 0: of nothing.
std::uint32_t crc32c(std::span<const char> bytes, std::uint32_t before = 0) noexcept;

} // namespace lacuna::io
