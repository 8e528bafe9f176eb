# The installed examples are a project of their own; documents lie beside them.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(GLOB_RECURSE examples ${PREFIX}/CMakeLists.txt)
cmake_path(GET examples PARENT_PATH examples)
foreach(document ../README.md ../LICENSE ../CHANGELOG.md ../docs/files.md poisson.cpp streaming_pagerank.cpp flow_analysis.cpp heat.cpp cantilever.cpp circuit.cpp graph_laplacian.cpp neighbours.cu)
  if(NOT EXISTS ${examples}/${document})
    message(FATAL_ERROR "${document} is not installed beside ${examples}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK}/examples)
run(${CMAKE_COMMAND} -S ${examples} -B ${WORK}/examples -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${PREFIX}
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_FLAGS=${flags})
# All of them are compiled and run in Lacuna's own build; two are enough to see that they can be outside it.
run(${CMAKE_COMMAND} --build ${WORK}/examples --target example-poisson example-heat)
run(${WORK}/examples/example-poisson)
run(${WORK}/examples/example-heat)
