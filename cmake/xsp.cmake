# Shared settings and three helpers: a room's library, a test next to the code, a shared object for the traced process.

add_compile_options(-Wall -Wextra -Wshadow -Wno-unused-parameter -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wconversion>)
if(XSP_WERROR)
  add_compile_options(-Werror)
endif()
if(XSP_SANITIZE)
  add_compile_options(-fsanitize=${XSP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${XSP_SANITIZE})
  if(XSP_FUZZ) # coverage of what is fuzzed, without which libFuzzer is blind
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
  endif()
  if(XSP_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-tsan) # it does not model fences; comments next to them state what they guard
  endif()
endif()
add_compile_definitions(_GNU_SOURCE)
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)

# All programs and libraries land in the build folder itself: build/xsp, build/libxsp.so, build/tracers/*.so.
set(XSP_OUTPUT ${CMAKE_BINARY_DIR})
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON) # a build folder may be moved

# xsp_room(NAME [files…] [LIBS libs…] [TEST_LIBS libs…]): the static library xsp_NAME of this folder, and its tests.
# Without files: every .c file here and below, except *_test.c (each a test program, named NAME_FILE) and test_*.c
# (support that is linked into each of them).
function(xsp_room name)
  cmake_parse_arguments(R "" "" "LIBS;TEST_LIBS" ${ARGN})
  set(sources ${R_UNPARSED_ARGUMENTS})
  if(NOT sources)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    set(tests ${sources})
    set(support ${sources})
    list(FILTER sources EXCLUDE REGEX "(_test|/test_[^/]*)\\.c$")
    list(FILTER tests INCLUDE REGEX "_test\\.c$")
    list(FILTER support INCLUDE REGEX "/test_[^/]*\\.c$")
  endif()
  add_library(xsp_${name} STATIC ${sources})
  target_link_libraries(xsp_${name} PUBLIC ${R_LIBS})
  foreach(test ${tests})
    get_filename_component(test_name ${test} NAME_WE)
    xsp_test(${name}_${test_name} SOURCES ${test} ${support} LIBS xsp_${name} ${R_TEST_LIBS})
  endforeach()
endfunction()

# xsp_test(NAME SOURCES files… LIBS libs… [LABEL label]): a cmocka program run by ctest.
function(xsp_test name)
  if(NOT XSP_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "" "LABEL" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} ${CMOCKA_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${XSP_OUTPUT}/test-programs)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600
    ENVIRONMENT "XSP_BUILD=${XSP_OUTPUT};XSP_SOURCE=${CMAKE_SOURCE_DIR}")
  if(T_LABEL)
    set_tests_properties(${name} PROPERTIES LABELS ${T_LABEL})
  endif()
endfunction()

# xsp_abi_test_in(NAME FOLDER OPTIONS…): compiles abi_test.c of this room against a vendor's headers in FOLDER, only to compare with.
# FOLDER "": they are not installed.
function(xsp_abi_test_in name folder)
  if(folder)
    add_test(NAME ${name} COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -fsyntax-only -I${CMAKE_SOURCE_DIR}/guest ${ARGN}
      -isystem ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/abi_test.c)
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: the vendor's headers are not installed")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped")
  endif()
endfunction()

# xsp_abi_test(NAME HEADER ABOVE): the same for headers of the Python environment. HEADER: below site-packages/nvidia, a glob; ABOVE:
# from its folder to that of the includes.
function(xsp_abi_test name header above)
  set(include "")
  file(GLOB headers ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/${header})
  list(LENGTH headers found)
  if(found GREATER 0)
    list(GET headers 0 first)
    get_filename_component(include ${first}/../${above} ABSOLUTE)
  endif()
  xsp_abi_test_in(${name} "${include}")
endfunction()
