# Configures the project in subproject/, which takes this source tree in by FetchContent and checks
# that it stays itself.
file(REMOVE_RECURSE ${WORK})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/subproject -B ${WORK} -G ${GENERATOR}
          -D CMAKE_CXX_COMPILER=${CXX} -D LACUNA_SOURCE=${LACUNA_SOURCE} -D LACUNA_CUDA=OFF
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${output}")
endif()
