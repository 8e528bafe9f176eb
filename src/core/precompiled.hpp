// What nearly all sources of the library include: the build parses it once for all of them. Headers
// that change often stay out, as each change builds the whole library again.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <lacuna/op/convert.hpp>
