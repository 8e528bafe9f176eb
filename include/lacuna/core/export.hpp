// Marks what a shared liblacuna shows; everything else is hidden.
#pragma once

#define LACUNA_EXPORT __attribute__((visibility("default")))
