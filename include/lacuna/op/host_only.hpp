// Operations that no device has yet say so in one message.
#pragma once

#include <lacuna/core/space.hpp>

namespace lacuna::detail {

template <space S> constexpr void require_host() {
  static_assert(S == space::host,
                "lacuna: this operation is for matrices in host memory as yet; use copy_to");
}

} // namespace lacuna::detail
