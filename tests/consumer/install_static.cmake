# A static Lacuna with the settings of BUILD, installed and moved. Nothing is compiled: its archive
# holds BUILD's objects, which are position-independent but otherwise the same.
set(KIND static)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(REMOVE_RECURSE ${WORK}/static_build)
string(REPLACE " Multi-Config" "" GENERATOR "${GENERATOR}")
file(STRINGS ${BUILD}/CMakeCache.txt settings
     REGEX "^(LACUNA_[A-Z0-9_]+|CMAKE_(C|CXX|CUDA)_(COMPILER|FLAGS|ARCHITECTURES)):")
list(FILTER settings EXCLUDE REGEX ":INTERNAL=") # what CMake found
list(TRANSFORM settings PREPEND -D)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/static_build -G ${GENERATOR} ${settings} -D CMAKE_BUILD_TYPE=${CONFIG}
    -D BUILD_SHARED_LIBS=OFF -D LACUNA_APPS=OFF -D LACUNA_TESTS=OFF -D LACUNA_PETSC=OFF -D LACUNA_PYTHON=OFF)
run(${AR} qcs ${WORK}/static_build/src/liblacuna.a @${WORK}/objects.txt)
set(BUILD ${WORK}/static_build)
include(${CMAKE_CURRENT_LIST_DIR}/install.cmake)
