# Half of the time that most sources take goes into headers and their templates. Grouped builds read them
# a few times instead of once per source: files in the build folder include several sources each.

# lacuna_deal_out(<groups> <name> <count> <source>...): deals the sources, all of one language, out, one
# after the other, to <count> files <name>_<number> and appends those to the list <groups>.
function(lacuna_deal_out groups name count)
  list(GET ARGN 0 first)
  cmake_path(GET first EXTENSION LAST_ONLY extension)
  set(next 0)
  foreach(source IN LISTS ARGN)
    string(APPEND includes_${next} "#include \"${source}\"\n#undef LACUNA_INSTANTIATE\n")
    math(EXPR next "(${next} + 1) % ${count}")
  endforeach()
  math(EXPR last "${count} - 1")
  foreach(number RANGE ${last})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_${number}${extension})
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_${number}}") # written if it differs
    list(APPEND ${groups} ${file})
  endforeach()
  set(${groups} ${${groups}} PARENT_SCOPE)
endfunction()

# lacuna_group_device_sources(<groups> <source>...): those that include CUB, themselves or by a header
# in gpu/, go together, as CUB takes longer to read than all the rest. Four files take 35 to 45 s each.
function(lacuna_group_device_sources groups)
  set(cub "<cub/")
  file(GLOB headers gpu/*.cuh gpu/parts/*.cuh)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} includes REGEX "#include <cub/")
    if(includes)
      cmake_path(GET header FILENAME name)
      string(APPEND cub "|/${name}")
    endif()
  endforeach()
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} includes REGEX "#include .*(${cub})")
    if(includes)
      list(APPEND with_cub ${source})
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  set(${groups} "")
  lacuna_deal_out(${groups} gpu/with_cub 2 ${with_cub})
  lacuna_deal_out(${groups} gpu/without_cub 2 ${others})
  set(${groups} ${${groups}} PARENT_SCOPE)
endfunction()

# lacuna_group_sources(<list> <name> <count>): puts groups in place of the C++ sources in the list, if
# LACUNA_GROUP_SOURCES is on.
function(lacuna_group_sources list_name name count)
  if(LACUNA_GROUP_SOURCES)
    list(TRANSFORM ${list_name} PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
    set(groups "")
    lacuna_deal_out(groups ${name} ${count} ${${list_name}})
    # Of a type that includes one of an anonymous namespace GCC warns unless it is in the file that is
    # compiled.
    set_property(SOURCE ${groups} APPEND PROPERTY COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set(${list_name} ${groups} PARENT_SCOPE)
  endif()
endfunction()
