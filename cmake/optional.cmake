# Libraries, each for one or more file formats, that are used if they are found. LACUNA_<NAME>=OFF leaves one
# out, ON fails without it. Without one, its formats throw `unsupported` naming the Debian package.
#
# lacuna_optional(NAME package target): finds the package; LACUNA_HAS_<NAME> says whether it is there,
# and NAME is in LACUNA_OPTIONAL.
function(lacuna_optional name package target)
  set(LACUNA_${name} AUTO CACHE STRING "${package}: AUTO (if found), ON or OFF")
  set_property(CACHE LACUNA_${name} PROPERTY STRINGS AUTO ON OFF)
  set(found OFF)
  if(NOT LACUNA_${name} STREQUAL OFF)
    find_package(${package} QUIET ${ARGN})
    if(TARGET ${target})
      set(found ON)
    elseif(LACUNA_${name} STREQUAL ON)
      message(FATAL_ERROR "LACUNA_${name}=ON, but ${package} was not found")
    endif()
  endif()
  set(LACUNA_HAS_${name} ${found} PARENT_SCOPE)
  set(LACUNA_OPTIONAL ${LACUNA_OPTIONAL} ${name} PARENT_SCOPE)
endfunction()

list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/find)
lacuna_optional(ZLIB ZLIB ZLIB::ZLIB)
lacuna_optional(ZSTD ZSTD ZSTD::ZSTD)
lacuna_optional(BZIP2 BZip2 BZip2::BZip2)
lacuna_optional(HDF5 HDF5 hdf5::hdf5 COMPONENTS C)
include(cmake/hdf5.cmake)
lacuna_optional(PNG PNG PNG::PNG)
