// One line where an older C++ would give thousands.
#pragma once

#if __cplusplus < 202002L
#error "Lacuna needs C++20: compile with -std=c++20 or later"
#include "C++20" // there is none: compilers stop here
#endif
