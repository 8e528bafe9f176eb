# Highway (SIMD with run-time dispatch), wrapped as lacuna_highway.
find_package(HWY REQUIRED)
add_library(lacuna_highway INTERFACE)
target_link_libraries(lacuna_highway INTERFACE HWY::HWY)
