// Marks what a shared liblacuna shows; everything else is hidden.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

#define LACUNA_EXPORT __attribute__((visibility("default")))
