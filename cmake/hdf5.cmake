# HDF5 is loaded when a file needs it (src/io/hdf5_library.hpp), so its headers are all that the
# build takes of hdf5::hdf5.
#
# lacuna_hdf5_library(variable): the name to load it by: the library's own where the system finds it
# by that, else with its folder. Empty if there is no shared one.
function(lacuna_hdf5_library result)
  set(${result} "" PARENT_SCOPE)
  get_target_property(inner hdf5::hdf5 INTERFACE_LINK_LIBRARIES) # HDF5's own CMake file: hdf5-shared
  foreach(target hdf5::hdf5 ${inner})
    if(TARGET ${target})
      foreach(kind "" _RELEASE _NOCONFIG _RELWITHDEBINFO _DEBUG)
        get_target_property(file ${target} IMPORTED_LOCATION${kind})
        if(file MATCHES "\\.so(\\.|$)")
          file(REAL_PATH ${file} file)
          execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE about COMMAND_ERROR_IS_FATAL ANY)
          if(NOT about MATCHES "SONAME +([^\n]+)")
            continue()
          endif()
          set(name ${CMAKE_MATCH_1})
          if(NOT file MATCHES "^(/usr)?/lib")
            cmake_path(REPLACE_FILENAME file ${name} OUTPUT_VARIABLE name)
          endif()
          set(${result} ${name} PARENT_SCOPE)
          return()
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()

if(LACUNA_HAS_HDF5)
  lacuna_hdf5_library(LACUNA_HDF5_LIBRARY)
  if(NOT LACUNA_HDF5_LIBRARY)
    if(LACUNA_HDF5 STREQUAL ON)
      message(FATAL_ERROR "LACUNA_HDF5=ON, but there is no shared HDF5 library")
    endif()
    set(LACUNA_HAS_HDF5 OFF)
  endif()
endif()
