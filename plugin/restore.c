/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saves the state of a function to which control can come back other than by a return, and restores
 * it there.
 *
 *	void f(void)                    void f(void)
 *	{                               {
 *	                                        u64 id = pcce_page.id;
 *	                                        u64 position = pcce_page.off and .place;
 *	                                        u64 word = top entry's site;
 *		struct guard g;                 struct guard g;
 *		h();                            h();
 *	}                                       return;
 *	                                landing pad:
 *	                                        __pcce_restore(id, position, word);
 *	                                        g.~guard(); resume unwinding
 *	                                }
 *
 * When an exception, longjmp or a non-local goto leaves functions without passing their
 * after-slots, the thread's state is that of a function that is gone. Where such a jump arrives,
 * __pcce_restore restores what was saved on the way there (where_to_save). It is called at landing
 * pads, after calls that return twice, at labels that a nested function jumps to, and at receivers
 * of __builtin_setjmp. After the first return of setjmp this changes only ext, which names the call
 * of setjmp until then (docs/slots.md). After a longjmp it establishes the state that longjmp has
 * announced.
 *
 * The word with the top entry's site is saved, too, since it contains the entry's repetition count.
 * All three are in volatile locals: they must be in memory, where no register that longjmp restores
 * can replace them.
 *
 * A function without such places pays nothing. The pass runs after the last GIMPLE pass that
 * changes the flow of control, and before "expand", so that it sees all places.
 */
#include "internal.h"
#include <pcce/abi.h>

/* Declarations, created when first needed. */
static GTY(()) tree page_decl;
static GTY(()) tree restore_decl;

static const struct ggc_root_tab declaration_roots[] = {
	{&page_decl, 1, sizeof(tree), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
	{&restore_decl, 1, sizeof(tree), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
	LAST_GGC_ROOT_TAB,
};

void restore_register(const char *plugin_name)
{
	register_callback(plugin_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, (void *)declaration_roots);
}

/* extern __thread char pcce_page[4096] __attribute__((tls_model("initial-exec"))); */
static tree get_page_decl(void)
{
	tree type;

	if (page_decl)
		return page_decl;
	type = build_array_type_nelts(unsigned_char_type_node, PCCE_PAGE_SIZE);
	page_decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier("pcce_page"), type);
	TREE_PUBLIC(page_decl) = 1;
	DECL_EXTERNAL(page_decl) = 1;
	TREE_USED(page_decl) = 1;
	TREE_ADDRESSABLE(page_decl) = 1;
	TREE_THIS_VOLATILE(page_decl) = 1;
	DECL_ARTIFICIAL(page_decl) = 1;
	DECL_IGNORED_P(page_decl) = 1;
	set_decl_tls_model(page_decl, TLS_MODEL_INITIAL_EXEC);
	return page_decl;
}

/* extern void __pcce_restore(u64, u64, u64) __attribute__((sysv_abi, nothrow, leaf)); */
static tree get_restore_decl(void)
{
	tree type, sysv;

	if (restore_decl)
		return restore_decl;
	type = build_function_type_list(void_type_node, uint64_type_node, uint64_type_node,
					uint64_type_node, NULL_TREE);
	sysv = tree_cons(get_identifier("sysv_abi"), NULL_TREE, NULL_TREE);
	restore_decl =
		build_fn_decl(PCCE_RESTORE_FUNCTION, build_type_attribute_variant(type, sysv));
	TREE_NOTHROW(restore_decl) = 1;
	DECL_ATTRIBUTES(restore_decl) =
		tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(restore_decl));
	return restore_decl;
}

/* Where __pcce_restore has to be called. */
struct places {
	auto_vec<gimple *> after;     /* calls after which to restore */
	auto_vec<basic_block> labels; /* blocks that begin with such a label */
	bool only_pads;		      /* all places are landing pads */
};

/* Does control enter the block other than by a return? Sets *is_pad if it is a landing pad. */
static bool begins_with_entry(basic_block bb, bool *is_pad)
{
	for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
		glabel *label = dyn_cast<glabel *>(gsi_stmt(gsi));
		tree decl;

		if (!label)
			return false;
		decl = gimple_label_label(label);
		*is_pad = !DECL_NONLOCAL(decl);
		if (DECL_NONLOCAL(decl) || EH_LANDING_PAD_NR(decl) > 0)
			return true;
	}
	return false;
}

static bool returns_again(gimple *stmt)
{
	if (!is_gimple_call(stmt))
		return false;
	return (gimple_call_flags(stmt) & ECF_RETURNS_TWICE) ||
	       gimple_call_builtin_p(stmt, BUILT_IN_SETJMP_RECEIVER);
}

static bool find_places(function *fun, struct places *places)
{
	basic_block bb;
	bool is_pad;

	places->only_pads = true;
	FOR_EACH_BB_FN(bb, fun)
	{
		if (begins_with_entry(bb, &is_pad)) {
			places->labels.safe_push(bb);
			places->only_pads &= is_pad;
		}
		for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			if (returns_again(gsi_stmt(gsi)))
				places->after.safe_push(gsi_stmt(gsi));
			if (gimple_call_builtin_p(gsi_stmt(gsi), BUILT_IN_RETURN_ADDRESS) ||
			    gimple_call_builtin_p(gsi_stmt(gsi), BUILT_IN_FRAME_ADDRESS))
				entry_looks_back(fun);
		}
	}
	places->only_pads &= places->after.is_empty();
	return !places->labels.is_empty() || !places->after.is_empty();
}

/*
 * Returns the block at whose end the state is saved, or NULL: at the entry. The function's state is
 * the same wherever control is in it. So any place is right that control passes before each
 * statement from which it can get to a landing pad. Of the blocks that dominate all these
 * statements, this is the one that is executed least. Many functions throw only on a path that is
 * rarely taken.
 */
static basic_block where_to_save(const struct places *places)
{
	basic_block all = NULL, best, bb;
	edge_iterator ei;
	unsigned int i;
	edge e;

	if (!places->only_pads)
		return NULL;
	calculate_dominance_info(CDI_DOMINATORS);
	FOR_EACH_VEC_ELT(places->labels, i, bb)
	FOR_EACH_EDGE(e, ei, bb->preds)
	{
		if (e->flags & (EDGE_EH | EDGE_ABNORMAL))
			all = all ? nearest_common_dominator(CDI_DOMINATORS, all, e->src) : e->src;
	}
	best = all;
	for (bb = all; bb && bb != ENTRY_BLOCK_PTR_FOR_FN(cfun);
	     bb = get_immediate_dominator(CDI_DOMINATORS, bb))
		if (bb->count < best->count)
			best = bb;
	free_dominance_info(CDI_DOMINATORS);
	return best;
}

struct saved {
	tree id, position, word; /* volatile locals */
};

static tree new_local(tree type, const char *name)
{
	tree local = create_tmp_var(type, name);

	TREE_THIS_VOLATILE(local) = 1;
	TREE_SIDE_EFFECTS(local) = 1;
	TREE_USED(local) = 1;
	return local;
}

static tree page_field(tree type, tree address, HOST_WIDE_INT offset)
{
	tree pointer = build_pointer_type_for_mode(type, VOIDmode, true);
	tree load = build2(MEM_REF, type, address, build_int_cst(pointer, offset));

	TREE_THIS_VOLATILE(load) = 1;
	TREE_SIDE_EFFECTS(load) = 1;
	return load;
}

static tree append_value(gimple_seq *seq, tree type, tree value)
{
	tree name = make_ssa_name(type);

	gimple_seq_add_stmt(seq, gimple_build_assign(name, value));
	return name;
}

static tree append_operation(gimple_seq *seq, enum tree_code code, tree type, tree a, tree b)
{
	tree name = make_ssa_name(type);

	gimple_seq_add_stmt(seq, gimple_build_assign(name, code, a, b));
	return name;
}

/* Saves the state; bb is the result of where_to_save(). */
static void save_state(basic_block bb, struct saved *saved)
{
	const HOST_WIDE_INT top_site =
		offsetof(struct pcce_page, base) + offsetof(struct pcce_entry, site);
	gimple_stmt_iterator gsi;
	gimple_seq seq = NULL;
	tree page, id, position, off, word, top;

	saved->id = new_local(uint64_type_node, "pcce_id");
	saved->position = new_local(uint64_type_node, "pcce_position");
	saved->word = new_local(uint64_type_node, "pcce_word");

	page = append_value(&seq, ptr_type_node,
			    build_fold_addr_expr_with_type(get_page_decl(), ptr_type_node));
	id = append_value(&seq, uint64_type_node,
			  page_field(uint64_type_node, page, offsetof(struct pcce_page, id)));
	gimple_seq_add_stmt(&seq, gimple_build_assign(saved->id, id));
	position =
		append_value(&seq, uint64_type_node,
			     page_field(uint64_type_node, page, offsetof(struct pcce_page, off)));
	gimple_seq_add_stmt(&seq, gimple_build_assign(saved->position, position));
	/* off is the lower half of position */
	off = make_ssa_name(uint32_type_node);
	gimple_seq_add_stmt(&seq, gimple_build_assign(off, NOP_EXPR, position));
	top = make_ssa_name(sizetype);
	gimple_seq_add_stmt(&seq, gimple_build_assign(top, NOP_EXPR, off));
	top = append_operation(&seq, POINTER_PLUS_EXPR, ptr_type_node, page, top);
	word = append_value(&seq, uint64_type_node, page_field(uint64_type_node, top, top_site));
	gimple_seq_add_stmt(&seq, gimple_build_assign(saved->word, word));
	if (!bb) {
		gsi_insert_seq_on_edge_immediate(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)),
						 seq);
		return;
	}
	gsi = gsi_last_bb(bb);
	if (!gsi_end_p(gsi) && stmt_ends_bb_p(gsi_stmt(gsi)))
		gsi_insert_seq_before(&gsi, seq, GSI_SAME_STMT);
	else
		gsi_insert_seq_after(&gsi, seq,
				     /* The block may have no statement. */
				     GSI_NEW_STMT);
}

static gimple_seq restore_sequence(const struct saved *saved, location_t location)
{
	gimple_seq seq = NULL;
	tree id = append_value(&seq, uint64_type_node, saved->id);
	tree position = append_value(&seq, uint64_type_node, saved->position);
	tree word = append_value(&seq, uint64_type_node, saved->word);
	gcall *call = gimple_build_call(get_restore_decl(), 3, id, position, word);

	gimple_set_location(call, location);
	gimple_seq_add_stmt(&seq, call);
	return seq;
}

static void restore_after(gimple *stmt, const struct saved *saved)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
	gimple_seq seq;
	edge e;

	if (!stmt_ends_bb_p(stmt)) {
		seq = restore_sequence(saved, gimple_location(stmt));
		gsi_insert_seq_after(&gsi, seq, GSI_SAME_STMT);
		return;
	}
	e = find_fallthru_edge(gimple_bb(stmt)->succs);
	if (e) {
		seq = restore_sequence(saved, gimple_location(stmt));
		gsi_insert_seq_on_edge_immediate(e, seq);
	}
}

static bool is_exception_edge(edge e)
{
	return (e->flags & EDGE_EH) != 0;
}

/* Makes ordinary control, for example that of an earlier clean-up, skip the restore. Then the code
 * is stale only after an exception, and a decoder can detect that. */
static basic_block without_ordinary(basic_block bb)
{
	bool ordinary = false;
	edge_iterator ei;
	edge e;

	FOR_EACH_EDGE(e, ei, bb->preds)
	{
		if (e->flags & EDGE_ABNORMAL)
			return bb;
		ordinary |= !is_exception_edge(e);
	}
	return ordinary ? make_forwarder_block(bb, is_exception_edge, NULL)->src : bb;
}

static void restore_at_label(basic_block bb, const struct saved *saved)
{
	gimple_stmt_iterator gsi;
	location_t location;

	bb = without_ordinary(bb);
	gsi = gsi_after_labels(bb);
	location = gsi_end_p(gsi) ? UNKNOWN_LOCATION : gimple_location(gsi_stmt(gsi));
	gsi_insert_seq_before(&gsi, restore_sequence(saved, location), GSI_SAME_STMT);
}

static unsigned int restore_execute(function *fun)
{
	struct places places;
	struct saved saved;
	unsigned int i;
	gimple *stmt;
	basic_block bb;

	if (!find_places(fun, &places))
		return 0;
	save_state(where_to_save(&places), &saved);
	FOR_EACH_VEC_ELT(places.labels, i, bb)
	restore_at_label(bb, &saved);
	FOR_EACH_VEC_ELT(places.after, i, stmt)
	restore_after(stmt, &saved);
	mark_virtual_operands_for_renaming(fun);
	return TODO_update_ssa_only_virtuals;
}

PCCE_PASS(restore, gimple, "pcce_restore", scope_instrumented, restore_execute);
