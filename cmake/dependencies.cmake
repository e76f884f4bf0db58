# SQLite, zstd, zlib and cmocka by pkg-config. -DXSP_STATIC_DEPENDENCIES=ON puts SQLite, zstd and zlib into xsp itself, for
# a tarball that needs nothing but the C library (make dist).
option(XSP_STATIC_DEPENDENCIES "link SQLite, zstd and zlib statically" OFF)

find_package(PkgConfig REQUIRED)
pkg_check_modules(SQLITE REQUIRED sqlite3)
pkg_check_modules(ZSTD REQUIRED libzstd)
pkg_check_modules(ZLIB REQUIRED zlib)
pkg_check_modules(CMOCKA REQUIRED cmocka)

if(XSP_STATIC_DEPENDENCIES)
  find_library(XSP_SQLITE_ARCHIVE NAMES libsqlite3.a REQUIRED)
  find_library(XSP_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
  find_library(XSP_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
  set(SQLITE_LIBRARIES ${XSP_SQLITE_ARCHIVE} m)
  set(ZSTD_LIBRARIES ${XSP_ZSTD_ARCHIVE})
  set(ZLIB_LIBRARIES ${XSP_ZLIB_ARCHIVE})
  add_link_options(-static-libgcc)
endif()
