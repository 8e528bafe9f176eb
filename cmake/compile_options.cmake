# lacuna_options: how Lacuna's own code is compiled. Never reaches users of the library.
add_library(lacuna_options INTERFACE)
target_compile_features(lacuna_options INTERFACE cxx_std_20)
target_compile_options(lacuna_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-unknown-pragmas>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${LACUNA_WERROR}>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -Xcompiler=-Wall,-Wextra,-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${LACUNA_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)
# GCC 12 sees writes beyond the end in std::string's own code; a precompiled header lets that through.
target_compile_options(lacuna_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict>)
if(LACUNA_GROUP_SOURCES)
  # GCC looks for memory it could use again only when a source has taken 1 GiB, not 128 MiB: a tenth less time.
  target_compile_options(lacuna_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=300 --param=ggc-min-heapsize=1048576>)
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT CMAKE_CXX_FLAGS MATCHES "(^| )-O")
  # A part of a project without a build type: as in Release, for Lacuna's own code alone.
  target_compile_options(lacuna_options INTERFACE -O3 -DNDEBUG)
endif()
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LACUNA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>            # instrumented loops are not vectorised
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>) # GCC sees what instrumentation hides, wrongly
  target_link_options(lacuna_options INTERFACE -fsanitize=${LACUNA_SANITIZE})
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
