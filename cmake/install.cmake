# What `cmake --install` and the tarball of `make dist` hold, in one place, so that nothing depends on where it is put:
#   bin/xsp  lib/libxsp.so*  lib/libxsp_read.so*  lib/libxsp_evaluate.so*  lib/xsp/{xsp-runner, tracers/*.so, xsp_sqlite.so, xsp_python.so}  include/xsp  lib/pkgconfig/xsp.pc  share/
# (bin/xsp, man pages and completion: programs/CMakeLists.txt.) The wheel has libexec/xsp/ in place of lib/ and lib/xsp/ (tools/package_wheel).
# The same RUNPATH in the build folder and when installed: CMake pads one that it shortens later, and an empty entry is
# the current directory, where a traced program would then look for libraries.
install(TARGETS xsp_capture xsp_read xsp_evaluate LIBRARY DESTINATION lib)
set_target_properties(xsp_read xsp_evaluate PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
file(CONFIGURE OUTPUT xsp.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
Name: xsp
Description: trace spans from C and C++ into a capture session of xsp
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -lxsp
]])
file(CONFIGURE OUTPUT xsp_read.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
Name: xsp_read
Description: read traces of xsp
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -lxsp_read
]])
file(CONFIGURE OUTPUT xsp_evaluate.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
Name: xsp_evaluate
Description: evaluate models with xsp
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -lxsp_evaluate
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xsp.pc ${CMAKE_CURRENT_BINARY_DIR}/xsp_read.pc ${CMAKE_CURRENT_BINARY_DIR}/xsp_evaluate.pc
  DESTINATION lib/pkgconfig)
install(DIRECTORY include/xsp DESTINATION include FILES_MATCHING PATTERN "*.h")
# Its probing of frameworks shares code that can publish spans.
set_target_properties(xsp PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/../lib:$ORIGIN/../libexec/xsp")
install(TARGETS xsp_python LIBRARY DESTINATION lib/xsp)
set_target_properties(xsp_python PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/..")
install(TARGETS xsp_sqlite LIBRARY DESTINATION lib/xsp)
# Debian's archives are built for programs: hidden, their symbols can go into a shared object, too.
target_link_options(xsp_sqlite PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS xsp-runner RUNTIME DESTINATION lib/xsp)
set_target_properties(xsp-runner PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/..")
# Every shared object that a folder of tracers/ puts into build/tracers/.
function(xsp_install_tracers directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(place ${target} LIBRARY_OUTPUT_DIRECTORY)
    if("${place}" STREQUAL "${XSP_OUTPUT}/tracers")
      install(TARGETS ${target} LIBRARY DESTINATION lib/xsp/tracers)
      get_target_property(linked ${target} LINK_LIBRARIES)
      if("${linked}" MATCHES "xsp_capture")
        set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..:$ORIGIN/../..")
      else()
        set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
      endif()
    endif()
  endforeach()
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    xsp_install_tracers(${folder})
  endforeach()
endfunction()
xsp_install_tracers(${CMAKE_SOURCE_DIR}/guest/tracers)
xsp_install_tracers(${CMAKE_SOURCE_DIR}/guest/frameworks)
