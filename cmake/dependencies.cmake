# SQLite, zstd, zlib, libyaml, libcrypto, libdw, libpq and libmicrohttpd (their headers) and cmocka by pkg-config. -DXSP_STATIC_DEPENDENCIES=ON puts them into xsp itself, for
# a tarball that needs nothing but the C library (make dist).
option(XSP_STATIC_DEPENDENCIES "link SQLite, zstd, zlib, libyaml, libcrypto and libdw statically" OFF)

find_package(PkgConfig REQUIRED)
pkg_check_modules(SQLITE REQUIRED sqlite3)
pkg_check_modules(ZSTD REQUIRED libzstd)
pkg_check_modules(ZLIB REQUIRED zlib)
pkg_check_modules(YAML REQUIRED yaml-0.1)
pkg_check_modules(CRYPTO REQUIRED libcrypto)
# SHA-256 alone, where there is the archive: the shared library has four fifths of all relocations that starting xsp takes.
find_library(XSP_CRYPTO_ARCHIVE NAMES libcrypto.a)
if(XSP_CRYPTO_ARCHIVE)
  set(CRYPTO_LIBRARIES ${XSP_CRYPTO_ARCHIVE})
endif()
# As archives: xsp-runner has them beside frameworks that bring copies of their own, which must not find these.
find_library(JPEG_LIBRARIES NAMES libjpeg.a REQUIRED)
find_library(XSP_PNG_ARCHIVE NAMES libpng16.a REQUIRED)
find_library(XSP_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
set(PNG_LIBRARIES ${XSP_PNG_ARCHIVE} ${XSP_ZLIB_ARCHIVE} m)
pkg_check_modules(DW REQUIRED libdw)
pkg_check_modules(CURL REQUIRED libcurl>=7.66) # its headers: net/http/curl.h opens it at run time
pkg_check_modules(PQ REQUIRED libpq) # its header: history/ opens it at run time
pkg_check_modules(MICROHTTPD REQUIRED libmicrohttpd) # opened at run time: never linked
find_library(IBERTY_LIBRARIES NAMES libiberty.a REQUIRED) # there is no other form of it
if(XSP_TESTS)
  pkg_check_modules(CMOCKA REQUIRED cmocka)
endif()

if(XSP_STATIC_DEPENDENCIES)
  find_library(XSP_SQLITE_ARCHIVE NAMES libsqlite3.a REQUIRED)
  find_library(XSP_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
  find_library(XSP_YAML_ARCHIVE NAMES libyaml.a REQUIRED)
  find_library(XSP_CRYPTO_ARCHIVE NAMES libcrypto.a REQUIRED)
  set(dw_archives "")
  foreach(archive dw elf lzma bz2 z)
    find_library(XSP_${archive}_ARCHIVE NAMES lib${archive}.a REQUIRED)
    list(APPEND dw_archives ${XSP_${archive}_ARCHIVE})
  endforeach()
  set(DW_LIBRARIES ${dw_archives})
  set(SQLITE_LIBRARIES ${XSP_SQLITE_ARCHIVE} m)
  set(ZSTD_LIBRARIES ${XSP_ZSTD_ARCHIVE})
  set(ZLIB_LIBRARIES ${XSP_ZLIB_ARCHIVE})
  set(YAML_LIBRARIES ${XSP_YAML_ARCHIVE})
  add_link_options(-static-libgcc)
endif()
