// What one rank throws, all throw: so that none waits for messages that do not come.
#pragma once

#include <exception>
#include <functional>
#include <mpi.h>

namespace lacuna::petsc {

/// Calls f on every rank. If it throws on some, all of them throw what the lowest of them threw.
void together(MPI_Comm comm, const std::function<void()>& f);

} // namespace lacuna::petsc
