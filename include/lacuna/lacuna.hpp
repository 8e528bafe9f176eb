// All of Lacuna.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

#include <lacuna/core/array.hpp>
#include <lacuna/core/checked.hpp>
#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>
#include <lacuna/format/coo.hpp>
#include <lacuna/format/csc.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/csr_k.hpp>
#include <lacuna/format/dense.hpp>
#include <lacuna/format/ell_csr.hpp>
#include <lacuna/format/hyb.hpp>
#include <lacuna/format/packed_csr.hpp>
#include <lacuna/op/add.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/csr_k.hpp>
#include <lacuna/op/ell_csr.hpp>
#include <lacuna/op/hyb.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/operand.hpp>
#include <lacuna/op/packed_csr.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/op/spgemm.hpp>
#include <lacuna/op/spgemm_parts.hpp>
#include <lacuna/op/spgemm_phases.hpp>
#include <lacuna/op/transpose.hpp>
#include <lacuna/op/vector.hpp>
#include <lacuna/op/verify_product.hpp>
#include <lacuna/plan/async.hpp>
#include <lacuna/plan/plan.hpp>
