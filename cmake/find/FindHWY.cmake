# HWY::HWY (Highway); not every package of it has a CMake file that works.
find_path(HWY_INCLUDE_DIR hwy/highway.h)
find_library(HWY_LIBRARY hwy)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HWY REQUIRED_VARS HWY_LIBRARY HWY_INCLUDE_DIR)
mark_as_advanced(HWY_INCLUDE_DIR HWY_LIBRARY)
if(HWY_FOUND AND NOT TARGET HWY::HWY)
  add_library(HWY::HWY UNKNOWN IMPORTED)
  set_target_properties(HWY::HWY PROPERTIES
    IMPORTED_LOCATION ${HWY_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HWY_INCLUDE_DIR})
endif()
