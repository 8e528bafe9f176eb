// Row pointers of a result, of 32 or 64 bits: kernels that touch a few of them per row take both.
#pragma once

#include <cstdint>

namespace lacuna::detail::gpu {

class read_offsets {
public:
  read_offsets(const std::int32_t* rowptr) : narrow_(rowptr) {}
  read_offsets(const std::int64_t* rowptr) : wide_(rowptr) {}
  __device__ std::int64_t operator[](std::int64_t row) const {
    return wide_ != nullptr ? wide_[row] : narrow_[row];
  }

private:
  const std::int32_t* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

/// The value must fit.
class write_offsets {
public:
  write_offsets() = default;
  write_offsets(std::int32_t* rowptr) : narrow_(rowptr) {}
  write_offsets(std::int64_t* rowptr) : wide_(rowptr) {}
  __device__ void set(std::int64_t row, std::int64_t offset) const {
    if (wide_ != nullptr)
      wide_[row] = offset;
    else
      narrow_[row] = static_cast<std::int32_t>(offset);
  }

private:
  std::int32_t* narrow_ = nullptr;
  std::int64_t* wide_ = nullptr;
};

} // namespace lacuna::detail::gpu
