# Compiles SOURCE. Its lines "// expect: REGEX" say what the compiler must complain about; without
# any it must compile.
string(REPLACE "|" ";" INCLUDES "${INCLUDES}")
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(
  COMMAND ${CXX} -std=c++20 -fsyntax-only ${INCLUDES} ${SOURCE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(STRINGS ${SOURCE} expected REGEX "^// expect: ")
if(NOT expected)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "must compile, but:\n${output}")
  endif()
  return()
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "compiles, but must not: ${SOURCE}")
endif()
foreach(line IN LISTS expected)
  string(REPLACE "// expect: " "" regex "${line}")
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "no '${regex}' in what the compiler said:\n${output}")
  endif()
endforeach()
