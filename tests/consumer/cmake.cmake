# The project in installed/ finds Lacuna in PREFIX, is built and runs.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
set(build ${WORK}/cmake_${KIND})
file(REMOVE_RECURSE ${build})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/installed -B ${build} -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${CONFIG}
    -D EXPECTED_PREFIX=${PREFIX} -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${build})
run(${CMAKE_COMMAND} -E chdir ${build} ./consumer)
message("${output}")
if(HDF5)
  expect("${output}" "a.bsp.h5 comes back")
endif()
