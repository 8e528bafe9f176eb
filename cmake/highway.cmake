# Highway (SIMD with run-time dispatch), wrapped as lacuna_highway.
find_package(HWY REQUIRED)
add_library(lacuna_highway INTERFACE)
target_link_libraries(lacuna_highway INTERFACE HWY::HWY)
# Kernels are compiled for each instruction set, and picked at run time. For this machine alone the set
# that it picks is enough, beside the plain one that every machine has.
if(LACUNA_THIS_CPU AND NOT CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null
                  OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512DQ__" AND macros MATCHES "__AVX512VL__")
    target_compile_definitions(lacuna_highway INTERFACE LACUNA_OTHER_TARGETS=HWY_AVX2)
  elseif(NOT failed AND macros MATCHES "__AVX2__")
    target_compile_definitions(lacuna_highway INTERFACE LACUNA_OTHER_TARGETS=HWY_AVX3)
  endif()
endif()
