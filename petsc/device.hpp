// The GPU of a rank: found by -lacuna_device, made once, shared by all that the rank has on it.
#pragma once

#include <memory>

#include "plugin.hpp"
#include <lacuna/op/staging.hpp>

namespace lacuna::petsc {

/// One stream, one pool of memory and one set of pinned buffers for all matrices of a rank.
struct rank_device {
  explicit rank_device(const device_options& options) : ctx(options), through(ctx) {}
  device_context ctx;
  staging through; ///< PETSc's vectors are in host memory that is not pinned
};

/// The device for a matrix of so many entries by the object's options, null for the host. An error
/// where a device was asked for and there is none.
PetscErrorCode find_device(const settings& s, std::int64_t entries,
                           std::shared_ptr<rank_device>& device);

/// Where this rank is among those of its node. Collective; once, before find_device.
PetscErrorCode find_place_in_node();
/// Lets go of the devices; those that are still in use stay until they are not.
PetscErrorCode forget_devices();

} // namespace lacuna::petsc
