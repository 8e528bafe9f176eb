# Compiles SOURCE. Its lines "// expect: REGEX" say what the compiler must complain about; without
# any it must compile. If the first expectation begins with "lacuna:", it is Lacuna's own message and
# must be the compiler's first error.
string(REPLACE "|" ";" INCLUDES "${INCLUDES}")
list(REMOVE_ITEM INCLUDES "") # without a precompiled header
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
string(REGEX MATCH "error: [^\n]*" first "${output}")
list(GET expected 0 line)
string(REPLACE "// expect: " "" regex "${line}")
if(regex MATCHES "^lacuna:" AND NOT first MATCHES "${regex}")
  message(FATAL_ERROR "the first error is not '${regex}':\n${output}")
endif()
