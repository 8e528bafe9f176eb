# Installs BUILD into a fresh prefix and moves that to PREFIX. Nothing may be left in the first place.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-first)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}-first --config ${CONFIG})
file(RENAME ${PREFIX}-first ${PREFIX})
