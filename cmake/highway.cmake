# Highway (SIMD with run-time dispatch), wrapped as lacuna_highway.
find_package(HWY REQUIRED)
add_library(lacuna_highway INTERFACE)
if(LACUNA_STANDALONE)
  # The distribution has no static libhwy: compile for one target, which needs no library.
  target_include_directories(lacuna_highway SYSTEM INTERFACE ${HWY_INCLUDE_DIR})
  target_compile_definitions(lacuna_highway INTERFACE HWY_COMPILE_ONLY_STATIC)
  target_compile_options(lacuna_highway INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3 -maes -mpclmul>)
else()
  target_link_libraries(lacuna_highway INTERFACE HWY::HWY)
endif()
