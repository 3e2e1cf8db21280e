# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# find_package(Pcce) gives the target Pcce::pcce and a function:
#
#   find_package(Pcce REQUIRED)
#   pcce_instrument(program library)         # or: target_link_libraries(program PRIVATE Pcce::pcce)
#
# What is compiled and linked with it carries its calling context.  A target that is linked into an
# instrumented one may stay as it is: its functions then show under those that called them.
cmake_policy(PUSH)
cmake_policy(VERSION 3.15)

# This file is PREFIX/lib/cmake/Pcce/PcceConfig.cmake; the plugin and the libraries are in PREFIX/lib/pcce.
get_filename_component(Pcce_LIBDIR "${CMAKE_CURRENT_LIST_DIR}/../../pcce" ABSOLUTE)
if(NOT EXISTS "${Pcce_LIBDIR}/pcce_plugin.so")
  set(Pcce_FOUND FALSE)
  set(Pcce_NOT_FOUND_MESSAGE "there is no pcce_plugin.so in ${Pcce_LIBDIR}; install pcce as a whole")
endif()

foreach(Pcce_language C CXX)
  if(CMAKE_${Pcce_language}_COMPILER_LOADED AND NOT CMAKE_${Pcce_language}_COMPILER_ID STREQUAL "GNU")
    set(Pcce_FOUND FALSE)
    set(Pcce_NOT_FOUND_MESSAGE
        "pcce is a plugin of GCC, and the ${Pcce_language} compiler is ${CMAKE_${Pcce_language}_COMPILER_ID}")
  endif()
endforeach()
unset(Pcce_language)

if(NOT TARGET Pcce::pcce AND NOT (DEFINED Pcce_FOUND AND NOT Pcce_FOUND))
  add_library(Pcce::pcce INTERFACE IMPORTED)
  set_target_properties(
    Pcce::pcce
    PROPERTIES INTERFACE_COMPILE_OPTIONS
               "$<$<COMPILE_LANGUAGE:C,CXX,OBJC,OBJCXX,Fortran>:-fplugin=${Pcce_LIBDIR}/pcce_plugin.so>"
               INTERFACE_LINK_OPTIONS "-fplugin=${Pcce_LIBDIR}/pcce_plugin.so;-specs=${Pcce_LIBDIR}/pcce.specs")
  get_filename_component(Pcce_include "${Pcce_LIBDIR}/../../include" ABSOLUTE)
  if(EXISTS "${Pcce_include}/pcce/pcce.h")
    set_target_properties(Pcce::pcce PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Pcce_include}")
  endif()
  unset(Pcce_include)
endif()

# pcce_instrument(TARGET...): compiles and links these targets with pcce. Not by target_link_libraries, of
# which one target can have one form only, with or without keywords.
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
