# Gathers PROGRAMS in DIR with the libraries that they need, but glibc's, and a script that runs them.
# They look for libraries beside themselves (preset gpu-bundle).
file(REMOVE_RECURSE ${DIR})
file(MAKE_DIRECTORY ${DIR})
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} RESOLVED_DEPENDENCIES_VAR libraries
     POST_EXCLUDE_REGEXES "/(ld-linux|libc|libm|libmvec|libdl|librt|libpthread)[-.]")
foreach(file IN LISTS PROGRAMS libraries)
  cmake_path(GET file FILENAME name)
  execute_process(COMMAND ${STRIP} -o ${DIR}/${name} ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/bundle-run.sh ${DIR}/run)
