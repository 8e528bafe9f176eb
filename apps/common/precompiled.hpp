// What most sources of the programs include: the build parses it once for all of them.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lacuna/io/read.hpp>
#include <lacuna/op/convert.hpp>
