# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Compiles and links all targets of a project with pcce, for `cmake --toolchain`:
#
#   cmake -S . -B out --toolchain PREFIX/lib/cmake/Pcce/PcceToolchain.cmake
#
# This file is in PREFIX/lib/cmake/Pcce, the compilers are in PREFIX/bin.
get_filename_component(Pcce_bindir "${CMAKE_CURRENT_LIST_DIR}/../../../bin" ABSOLUTE)
set(CMAKE_C_COMPILER "${Pcce_bindir}/pcce-gcc")
set(CMAKE_CXX_COMPILER "${Pcce_bindir}/pcce-g++")
unset(Pcce_bindir)
