# find_package(muster) gives the target muster::muster: the C interface.
# The path by which it was found stays true after an update. Only if it has no header, as Debian's /lib, a link to /usr/lib, the
# prefix is that of the files.
get_filename_component(_muster_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${_muster_prefix}/include/muster.h")
  get_filename_component(_muster_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
  get_filename_component(_muster_prefix "${_muster_prefix}/../../.." ABSOLUTE)
endif()
if(NOT TARGET muster::muster)
  add_library(muster::muster SHARED IMPORTED)
  set_target_properties(muster::muster PROPERTIES
    IMPORTED_LOCATION "${_muster_prefix}/lib/libmuster.so.0"
    IMPORTED_SONAME libmuster.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_muster_prefix}/include")
endif()
unset(_muster_prefix)
