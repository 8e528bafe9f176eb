# LACUNA_STANDALONE: everything linked statically but glibc and the CUDA driver. The `bundle` target
# gathers the programs and a script that runs them all.
if(NOT LACUNA_STANDALONE)
  return()
endif()
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.a
                OUTPUT_VARIABLE gomp_archive OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(OpenMP_gomp_LIBRARY ${gomp_archive} CACHE FILEPATH "")
add_link_options(-static-libgcc -static-libstdc++)

function(lacuna_add_bundle)
  set(programs lacuna-cli lacuna-bench lacuna-tests)
  set(dir ${PROJECT_BINARY_DIR}/bundle)
  set(copies "")
  foreach(program ${programs})
    list(APPEND copies COMMAND ${CMAKE_STRIP} -o ${dir}/$<TARGET_FILE_NAME:${program}> $<TARGET_FILE:${program}>)
  endforeach()
  add_custom_target(bundle
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir} ${copies}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/cmake/bundle-run.sh ${dir}/run
    DEPENDS ${programs} VERBATIM)
endfunction()
