# install, export, find_package(lacuna).
include(CMakePackageConfigHelpers)

install(TARGETS lacuna EXPORT lacuna-targets)
install(DIRECTORY include/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/lacuna/core/config.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/core)
set(LACUNA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${LACUNA_CMAKE_DIR})
get_target_property(LACUNA_LIBRARY_TYPE lacuna TYPE)
configure_package_config_file(cmake/lacuna-config.cmake.in ${PROJECT_BINARY_DIR}/lacuna-config.cmake
                              INSTALL_DESTINATION ${LACUNA_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lacuna-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lacuna-config.cmake ${PROJECT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${LACUNA_CMAKE_DIR})
if(LACUNA_APPS)
  install(TARGETS lacuna-cli)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
