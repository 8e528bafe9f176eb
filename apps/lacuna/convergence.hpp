// A residual's history as a few lines of text.
#pragma once

#include <string>
#include <vector>

namespace lacuna::app {

/// Decades downwards, iterations to the right, in at most `width` columns; empty if there is
/// nothing to draw.
std::string convergence_plot(const std::vector<double>& history, int width);

} // namespace lacuna::app
