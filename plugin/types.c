/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names the type of each function, and of each call through a pointer, by a hash.
 *
 * pcce-encode expects that a call through a pointer leads to a function of the same type, and has
 * each call check that. So a type only has to be right mostly:
 *
 *  - Structures have the hash of their tag, so units agree that see a declaration only.
 *  - Integers differ by size only, and so do floating-point numbers. Qualifiers do not count.
 *  - `this` does not count, since a virtual call knows the base class only. The position in the
 *    table of virtual functions counts.
 *
 * RTL does not know the type of a call. So a pass over GIMPLE remembers it by the call's location.
 * A location with calls of different types has none.
 */
#include "internal.h"

#define DEPTH_MAX 3 /* of pointers; what is further inside does not count */

struct typed_call {
	location_t location;
	uint32_t type; /* 0: several */
};

static struct typed_call *calls;
static unsigned int n_calls, calls_room;
static tree calls_of;

/* FNV-1a */
static uint32_t add_byte(uint32_t hash, unsigned char byte)
{
	return (hash ^ byte) * 16777619u;
}

static uint32_t add_number(uint32_t hash, unsigned HOST_WIDE_INT number)
{
	for (unsigned int i = 0; i < sizeof(number); i++, number >>= 8)
		hash = add_byte(hash, number & 0xff);
	return hash;
}

static uint32_t add_tag(uint32_t hash, tree type)
{
	tree name = TYPE_NAME(TYPE_MAIN_VARIANT(type));

	if (name && TREE_CODE(name) == TYPE_DECL)
		name = DECL_NAME(name);
	if (name && TREE_CODE(name) == IDENTIFIER_NODE)
		for (const char *c = IDENTIFIER_POINTER(name); *c; c++)
			hash = add_byte(hash, *c);
	return add_byte(hash, 0);
}

static uint32_t add_type(uint32_t hash, tree type, int depth)
{
	if (POINTER_TYPE_P(type)) {
		hash = add_byte(hash, 'p');
		return depth < DEPTH_MAX ? add_type(hash, TREE_TYPE(type), depth + 1) : hash;
	}
	if (INTEGRAL_TYPE_P(type))
		return add_byte(add_byte(hash, 'i'), TYPE_PRECISION(type) > 32);
	if (SCALAR_FLOAT_TYPE_P(type))
		return add_number(add_byte(hash, 'f'), TYPE_PRECISION(type));
	if (RECORD_OR_UNION_TYPE_P(type))
		return add_tag(add_byte(hash, 's'), type);
	return add_number(hash, VOID_TYPE_P(type) ? 'v' : 256 + TREE_CODE(type));
}

/* token: 0, or 1 + the position in the table of virtual functions. */
static uint32_t hash_of_type(tree type, unsigned HOST_WIDE_INT token)
{
	uint32_t hash = add_number(2166136261u, token);
	tree args = TYPE_ARG_TYPES(type);

	hash = add_type(hash, TREE_TYPE(type), 0);
	if (TREE_CODE(type) == METHOD_TYPE && args)
		args = TREE_CHAIN(args);
	for (; args && args != void_list_node; args = TREE_CHAIN(args))
		hash = add_type(hash, TREE_VALUE(args), 0);
	hash = add_byte(hash, args ? 'n' : '.');
	return hash ? hash : 1;
}

static unsigned HOST_WIDE_INT token_of(tree position)
{
	return position && tree_fits_uhwi_p(position) ? 1 + tree_to_uhwi(position) : 0;
}

uint32_t types_of_function(tree decl)
{
	return hash_of_type(TREE_TYPE(decl),
			    DECL_VIRTUAL_P(decl) ? token_of(DECL_VINDEX(decl)) : 0);
}

uint32_t types_of_call(location_t location)
{
	location = LOCATION_LOCUS(location);
	for (unsigned int i = 0; calls_of == current_function_decl && i < n_calls; i++)
		if (calls[i].location == location)
			return calls[i].type;
	return 0;
}

static void note_call(location_t location, uint32_t type)
{
	for (unsigned int i = 0; i < n_calls; i++) {
		if (calls[i].location != location)
			continue;
		if (calls[i].type != type)
			calls[i].type = 0;
		return;
	}
	if (n_calls == calls_room) {
		calls_room = calls_room ? 2 * calls_room : 64;
		calls = XRESIZEVEC(struct typed_call, calls, calls_room);
	}
	calls[n_calls].location = location;
	calls[n_calls++].type = type;
}

static unsigned int types_execute(function *fun)
{
	basic_block bb;

	n_calls = 0;
	calls_of = fun->decl;
	FOR_EACH_BB_FN(bb, fun)
	{
		for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gcall *call = dyn_cast<gcall *>(gsi_stmt(gsi));
			tree callee, token = NULL_TREE;

			if (!call || gimple_call_internal_p(call) || gimple_call_fndecl(call) ||
			    !gimple_call_fntype(call) ||
			    LOCATION_LOCUS(gimple_location(call)) <= BUILTINS_LOCATION)
				continue;
			callee = gimple_call_fn(call);
			if (callee && TREE_CODE(callee) == OBJ_TYPE_REF)
				token = OBJ_TYPE_REF_TOKEN(callee);
			note_call(LOCATION_LOCUS(gimple_location(call)),
				  hash_of_type(gimple_call_fntype(call), token_of(token)));
		}
	}
	return 0;
}

PCCE_PASS(types, gimple, "pcce_types", scope_instrumented, types_execute);
