// All of Lacuna.
#pragma once

#include <lacuna/core/array.hpp>
#include <lacuna/core/checked.hpp>
#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>
#include <lacuna/format/coo.hpp>
#include <lacuna/format/csc.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/operand.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/op/vector.hpp>
