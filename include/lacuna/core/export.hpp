// Marks what a shared liblacuna shows; everything else is hidden.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

#include <lacuna/core/config.hpp>

#define LACUNA_EXPORT __attribute__((visibility("default")))
/// What the GPU part defines. Without it these are never reached, because no device_context can be
/// made, and weak, so that a program that mentions them still links.
#if LACUNA_HAS_CUDA
#define LACUNA_GPU_EXPORT LACUNA_EXPORT
#else
#define LACUNA_GPU_EXPORT __attribute__((visibility("default"), weak))
#endif
