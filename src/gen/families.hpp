// One function per generator: from its arguments to the source of its rows. They are cheap: nothing
// is generated yet. table.cpp gives them names and parameters.
#pragma once

#include "gen/parameters.hpp"
#include "gen/source.hpp"

namespace lacuna::gen::make {

// stencils.cpp
source poisson2d(const arguments& a);
source poisson2d9(const arguments& a);
source poisson3d(const arguments& a);
source poisson3d27(const arguments& a);
source fem3d(const arguments& a);
source tridiagonal(const arguments& a);
source anisotropic(const arguments& a);
source variable(const arguments& a);

// elasticity.cpp
source elasticity3d(const arguments& a);

// physics.cpp
source qcd(const arguments& a);
source epidemiology(const arguments& a);
source cage(const arguments& a);
source kkt(const arguments& a);

// patterns.cpp
source diagonal(const arguments& a);
source banded(const arguments& a);
source dense(const arguments& a);
source arrow(const arguments& a);
source uniform(const arguments& a);
source localized(const arguments& a);
source lp(const arguments& a);
source debruijn(const arguments& a);

// circuit.cpp
source circuit(const arguments& a);

// graphs.cpp
source rmat(const arguments& a);
source kron(const arguments& a);
source web(const arguments& a);
source patents(const arguments& a);

// meshes.cpp
source rgg(const arguments& a);
source mesh2d(const arguments& a);
source road(const arguments& a);
source trace3(const arguments& a);

} // namespace lacuna::gen::make
