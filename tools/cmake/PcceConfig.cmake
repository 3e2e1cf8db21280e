# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Defines the target Pcce::pcce and the function pcce_instrument for find_package(Pcce):
#
#   find_package(Pcce REQUIRED)
#   pcce_instrument(program library)         # or: target_link_libraries(program PRIVATE Pcce::pcce)
#
# These targets are compiled and linked with pcce.  A target that is linked into an instrumented one
# need not be instrumented: its functions then appear below the functions that called them.
cmake_policy(PUSH)
cmake_policy(VERSION 3.15)

# This file is PREFIX/lib/cmake/Pcce/PcceConfig.cmake.  The plugin and the libraries are in
# PREFIX/lib/pcce.
get_filename_component(Pcce_LIBDIR "${CMAKE_CURRENT_LIST_DIR}/../../pcce" ABSOLUTE)
if(NOT EXISTS "${Pcce_LIBDIR}/pcce_plugin.so")
  set(Pcce_FOUND FALSE)
  set(Pcce_NOT_FOUND_MESSAGE "cannot find pcce_plugin.so in ${Pcce_LIBDIR}; reinstall pcce")
endif()

foreach(Pcce_language C CXX)
  set(Pcce_compiler ${CMAKE_${Pcce_language}_COMPILER_ID})
  if(CMAKE_${Pcce_language}_COMPILER_LOADED AND NOT Pcce_compiler STREQUAL "GNU")
    set(Pcce_FOUND FALSE)
    set(Pcce_NOT_FOUND_MESSAGE
        "cannot use the ${Pcce_language} compiler ${Pcce_compiler}: \
pcce is a plugin of GCC; use GCC")
  endif()
  if(CMAKE_${Pcce_language}_COMPILER_LOADED AND Pcce_compiler STREQUAL "GNU")
    string(REGEX MATCH "^[0-9]+" Pcce_major "${CMAKE_${Pcce_language}_COMPILER_VERSION}")
    if(NOT EXISTS "${Pcce_LIBDIR}/gcc-${Pcce_major}/pcce_plugin.so")
      set(Pcce_FOUND FALSE)
      set(Pcce_NOT_FOUND_MESSAGE
          "cannot use GCC ${Pcce_major}: ${Pcce_LIBDIR} has no plugin for it; \
install the package pcce-gcc-${Pcce_major} or pcce-gcc-source, or build pcce with 'make GCCS=all'")
    endif()
    unset(Pcce_major)
  endif()
endforeach()
unset(Pcce_language)
unset(Pcce_compiler)

if(NOT TARGET Pcce::pcce AND NOT (DEFINED Pcce_FOUND AND NOT Pcce_FOUND))
  set(Pcce_plugin "-fplugin=${Pcce_LIBDIR}/pcce_plugin.so")
  add_library(Pcce::pcce INTERFACE IMPORTED)
  set_target_properties(
    Pcce::pcce
    PROPERTIES INTERFACE_COMPILE_OPTIONS
               "$<$<COMPILE_LANGUAGE:C,CXX,OBJC,OBJCXX,Fortran>:${Pcce_plugin}>"
               INTERFACE_LINK_OPTIONS
               "${Pcce_plugin};@${Pcce_LIBDIR}/link.flags")
  get_filename_component(Pcce_include "${Pcce_LIBDIR}/../../include" ABSOLUTE)
  if(EXISTS "${Pcce_include}/pcce/pcce.h")
    set_target_properties(Pcce::pcce PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Pcce_include}")
  endif()
  unset(Pcce_include)
  unset(Pcce_plugin)
endif()

# pcce_instrument(TARGET...) compiles and links these targets with pcce.  It does not call
# target_link_libraries, because one target can use only one form of it, with or without keywords.
function(pcce_instrument)
  get_target_property(compile Pcce::pcce INTERFACE_COMPILE_OPTIONS)
  get_target_property(link Pcce::pcce INTERFACE_LINK_OPTIONS)
  get_target_property(include Pcce::pcce INTERFACE_INCLUDE_DIRECTORIES)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE "${compile}")
    target_link_options(${target} PRIVATE "${link}")
    if(include)
      target_include_directories(${target} PRIVATE "${include}")
    endif()
  endforeach()
endfunction()

cmake_policy(POP)
