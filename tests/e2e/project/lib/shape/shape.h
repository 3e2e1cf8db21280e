/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef SHAPE_H
#define SHAPE_H
unsigned int shape_tree(unsigned int depth, unsigned int seed);
#endif
