/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what a call instruction calls, and whether the callee is a leaf.
 *
 * A leaf is a function outside of the program that returns without having run any of the program's
 * code. GCC's own notion, ECF_LEAF, is wider in one way and narrower in another. glibc's headers
 * put it on every function that cannot call back into the *same unit*, or that does not return. C++
 * headers have no such mark. So:
 *
 *  - A name in never_leaf[] is no leaf. Nor is a function that does not return: the code before the
 *    end of exit() or abort() is the program's. Nor is one that is defined in this unit.
 *  - A builtin, or a function declared in a system header, is a leaf if it has ECF_LEAF, or if its
 *    name is known.
 *  - GCC's own library routines (calls without a declaration) are leaves.
 *
 * A mark in the program's own headers is not trusted, since the function itself may be
 * instrumented. pcce-encode also looks where the call goes, and decides about calls that stay
 * inside the module.
 */
#include "internal.h"

/* These names are sorted by strcmp(). */
static const char *const never_leaf[] = {
	"clone", /* runs a function of the program */
	"dlsym", /* may run an IFUNC resolver of the program */
	"dlvsym",
	"fork", /* pthread_atfork handlers */
	"glob", /* its errfunc and GLOB_ALTDIRFUNC */
	"glob64",
	"kill", /* a signal sent to oneself: its handler runs before the call returns */
	"killpg",
	"malloc_info", /* writes to a stream, which may be a cookie stream */
	"pthread_atfork",
	"pthread_kill",
	"pthread_sigmask", /* unblocks a pending signal */
	"pthread_sigqueue",
	"raise",
	"setbuf", /* may write the content of a cookie stream */
	"setbuffer",
	"setcontext", /* continues elsewhere */
	"setlinebuf",
	"setvbuf",
	"sigblock",
	"sigpause",
	"sigprocmask",
	"sigqueue",
	"sigrelse",
	"sigset",
	"sigsetmask",
	"sigsuspend",
	"swapcontext", /* continues elsewhere */
	"syscall",     /* may be any of the above */
	"tgkill",
	"thrd_create",
};

/* Functions of the C, math and C++ libraries without the mark, at least in C++. setjmp and its kin
 * belong here: they return twice to the same place. */
static const char *const always_leaf[] = {
	"_ZdaPv", /* operator delete, in all its forms */
	"_ZdaPvRKSt9nothrow_t",
	"_ZdaPvSt11align_val_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvm",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPv",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdlPvm",
	"_ZdlPvmSt11align_val_t",
	"_Znam", /* operator new */
	"_ZnamRKSt9nothrow_t",
	"_ZnamSt11align_val_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	"_Znwm",
	"_ZnwmRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"__ctype_b_loc",
	"__ctype_get_mb_cur_max",
	"__ctype_tolower_loc",
	"__ctype_toupper_loc",
	"__cxa_allocate_exception",
	"__cxa_atexit",
	"__cxa_begin_catch",
	"__cxa_free_exception",
	"__cxa_get_exception_ptr",
	"__cxa_guard_abort",
	"__cxa_guard_acquire",
	"__cxa_guard_release",
	"__cxa_thread_atexit",
	"__dynamic_cast",
	"__errno_location",
	"__sigsetjmp",
	"__strtof_internal",
	"__vfork",
	"_setjmp",
	"abs",
	"atof",
	"atoi",
	"atol",
	"atoll",
	"bcmp",
	"bcopy",
	"bzero",
	"calloc",
	"clock",
	"clock_gettime",
	"difftime",
	"div",
	"explicit_bzero",
	"ffs",
	"ffsl",
	"ffsll",
	"free",
	"getcontext",
	"getenv",
	"getpid",
	"gettimeofday",
	"gmtime",
	"gmtime_r",
	"ldiv",
	"localtime",
	"localtime_r",
	"malloc",
	"malloc_usable_size",
	"memchr",
	"memcmp",
	"memcpy",
	"memmem",
	"memmove",
	"mempcpy",
	"memrchr",
	"memset",
	"mktime",
	"posix_memalign",
	"pthread_equal",
	"pthread_getspecific",
	"pthread_mutex_destroy",
	"pthread_mutex_init",
	"pthread_mutex_lock",
	"pthread_mutex_trylock",
	"pthread_mutex_unlock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_unlock",
	"pthread_rwlock_wrlock",
	"pthread_self",
	"pthread_setspecific",
	"pthread_spin_lock",
	"pthread_spin_unlock",
	"rand",
	"rand_r",
	"random",
	"rawmemchr",
	"realloc",
	"reallocarray",
	"setjmp",
	"sigsetjmp",
	"srand",
	"srandom",
	"stpcpy",
	"stpncpy",
	"strcasecmp",
	"strcasestr",
	"strcat",
	"strchr",
	"strchrnul",
	"strcmp",
	"strcoll",
	"strcpy",
	"strcspn",
	"strdup",
	"strerror",
	"strlen",
	"strncasecmp",
	"strncat",
	"strncmp",
	"strncpy",
	"strndup",
	"strnlen",
	"strpbrk",
	"strrchr",
	"strsep",
	"strspn",
	"strstr",
	"strtod",
	"strtof",
	"strtok",
	"strtok_r",
	"strtol",
	"strtold",
	"strtoll",
	"strtoul",
	"strtoull",
	"strxfrm",
	"time",
	"tolower",
	"toupper",
	"vfork",
	"wcschr",
	"wcscmp",
	"wcscpy",
	"wcslen",
	"wcsncmp",
	"wmemchr",
	"wmemcmp",
	"wmemcpy",
	"wmemmove",
	"wmemset",
};

static bool is_listed(const char *const *list, size_t n, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(name, list[middle]);

		if (!order)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Members of std::string that are no templates themselves; templates may get the program's
 * iterators. */
static bool is_string_member(const char *name)
{
	static const char string[] = "St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
	unsigned int length = 2; /* constructors, operators */
	int digits = 0;

	if (!startswith(name, "_ZN"))
		return false;
	name += strlen("_ZN");
	name += *name == 'K';
	if (!startswith(name, string))
		return false;
	name += strlen(string);
	sscanf(name, "%u%n", &length, &digits);
	name += digits;
	return strlen(name) > length && name[length] != 'I';
}

/* What libstdc++ provides for strings and containers. It allocates with operator new, which may be
 * the program's own, as malloc may be. */
static bool is_leaf_of_containers(const char *name)
{
	static const char *const prefixes[] = {
		"_ZSt18_Rb_tree_", /* increment, decrement */
		"_ZSt28_Rb_tree_", /* rebalance_for_erase */
		"_ZSt29_Rb_tree_", /* insert_and_rebalance */
		"_ZNSt8__detail15_List_node_base",
		"_ZNKSt8__detail20_Prime_rehash_policy",
		"_ZSt11_Hash_bytes",
		"_ZNSt6chrono3_V2", /* now() of the clocks */
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (startswith(name, prefixes[i]))
			return true;
	return is_string_member(name);
}

static bool is_known_leaf(const char *name)
{
	return is_listed(always_leaf, ARRAY_SIZE(always_leaf), name) || is_leaf_of_containers(name);
}

/* memcpy and similar, the arithmetic of libgcc, libm: what the compiler calls without a call in the
 * source. Functions that unwind or switch stacks are not among them. */
static bool is_leaf_libcall(const char *name)
{
	if (is_known_leaf(name))
		return true;
	if (startswith(name, "__morestack") || startswith(name, "__cxa_") ||
	    startswith(name, "__gcc_personality") || startswith(name, "__gxx_personality"))
		return false;
	return startswith(name, "__");
}

static bool from_system(tree decl)
{
	return fndecl_built_in_p(decl) || DECL_ARTIFICIAL(decl) || DECL_IN_SYSTEM_HEADER(decl) ||
	       DECL_IS_UNDECLARED_BUILTIN(decl);
}

static bool defined_here(tree decl)
{
	cgraph_node *node;

	if (!DECL_EXTERNAL(decl) || !TREE_PUBLIC(decl))
		return true;
	node = cgraph_node::get(decl);
	return node && node->in_other_partition;
}

bool callee_is_leaf(tree decl, const char *name)
{
	int flags;

	if (!name || is_listed(never_leaf, ARRAY_SIZE(never_leaf), name))
		return false;
	if (!decl)
		return is_leaf_libcall(name);
	flags = flags_from_decl_or_type(decl);
	if ((flags & ECF_NORETURN) || defined_here(decl) || !from_system(decl))
		return false;
	return (flags & ECF_LEAF) || is_known_leaf(name);
}

bool callee_throws(const char *name)
{
	static const char *const names[] = {"_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
					    "__cxa_rethrow"};

	if (!name)
		return false;
	/* __cxa_throw, __cxa_throw_bad_array_new_length; __cxa_bad_cast;
	 * std::__throw_length_error(char const *), std::rethrow_exception(std::exception_ptr) */
	return is_listed(names, ARRAY_SIZE(names), name) || startswith(name, "__cxa_throw") ||
	       startswith(name, "__cxa_bad_") ||
	       (startswith(name, "_ZSt") &&
		(strstr(name, "__throw_") || strstr(name, "rethrow_exception")));
}

/* The type of a handler that std::set_new_handler() or std::set_terminate() takes: operator new may
 * call the first, the unwinder the second. */
static bool may_be_handler(tree decl)
{
	tree type = TREE_TYPE(decl);

	return VOID_TYPE_P(TREE_TYPE(type)) && TREE_CODE(type) == FUNCTION_TYPE &&
	       (!prototype_p(type) || TYPE_ARG_TYPES(type) == void_list_node);
}

bool callee_replaces_leaf(tree decl, const char *name)
{
	/* Allocators that are not builtins of GCC. */
	static const char *const allocators[] = {"malloc_usable_size", "memalign", "pvalloc",
						 "reallocarray", "valloc"};

	return (flags_from_decl_or_type(decl) & ECF_LEAF) || fndecl_built_in_p(decl) ||
	       may_be_handler(decl) || is_known_leaf(name) ||
	       is_listed(allocators, ARRAY_SIZE(allocators), name);
}

/* A leading star means "exactly this name"; x86-64 adds no other prefix. */
static const char *plain_name(const char *name)
{
	return name[0] == '*' ? name + 1 : name;
}

const char *callee_assembler_name(tree decl)
{
	return HAS_DECL_ASSEMBLER_NAME_P(decl)
		       ? plain_name(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(decl)))
		       : NULL;
}

/* A call of foo@GOTPCREL(%rip): -fno-plt in position-independent code. */
static rtx symbol_of_got_slot(rtx address)
{
	rtx slot;

	if (!MEM_P(address) || GET_CODE(XEXP(address, 0)) != CONST)
		return NULL_RTX;
	slot = XEXP(XEXP(address, 0), 0);
	if (GET_CODE(slot) != UNSPEC || XINT(slot, 1) != UNSPEC_GOTPCREL ||
	    GET_CODE(XVECEXP(slot, 0, 0)) != SYMBOL_REF)
		return NULL_RTX;
	return XVECEXP(slot, 0, 0);
}

/* -fno-plt in other code: final writes the symbol as its GOT slot. */
static bool is_noplt_symbol(rtx symbol)
{
	tree decl = SYMBOL_REF_DECL(symbol);

	if (flag_pic || SYMBOL_REF_LOCAL_P(symbol))
		return false;
	return !flag_plt || (decl && lookup_attribute("noplt", DECL_ATTRIBUTES(decl)));
}

/* Returns the function that the instruction itself names, or NULL. */
static rtx named_symbol(rtx address)
{
	/* With -mindirect-branch=thunk and the like a load from the GOT goes through a thunk. */
	bool thunks = cfun->machine->indirect_branch_type != indirect_branch_keep;

	if (GET_CODE(address) == SYMBOL_REF)
		return thunks && is_noplt_symbol(address) ? NULL_RTX : address;
	return thunks ? NULL_RTX : symbol_of_got_slot(address);
}

static bool is_tls_sequence(rtx pattern)
{
	if (GET_CODE(pattern) != PARALLEL)
		return false;
	for (int i = 0; i < XVECLEN(pattern, 0); i++) {
		rtx part = XVECEXP(pattern, 0, i);

		if (GET_CODE(part) == UNSPEC &&
		    (XINT(part, 1) == UNSPEC_TLS_GD || XINT(part, 1) == UNSPEC_TLS_LD_BASE))
			return true;
	}
	return false;
}

void callee_of(rtx_insn *insn, struct callee *out)
{
	rtx call = get_call_rtx_from(insn);
	rtx note;

	memset(out, 0, sizeof(*out));
	out->indirect = true;
	if (!call || !MEM_P(XEXP(call, 0)))
		return;
	out->tls = is_tls_sequence(PATTERN(insn));
	out->symbol = named_symbol(XEXP(XEXP(call, 0), 0));
	out->indirect = !out->symbol && !out->tls;
	if (!out->symbol) {
		/* An earlier instruction may have loaded the address of a known function. */
		note = find_reg_note(insn, REG_CALL_DECL, NULL_RTX);
		if (note && XEXP(note, 0) && GET_CODE(XEXP(note, 0)) == SYMBOL_REF)
			out->symbol = XEXP(note, 0);
	}
	if (!out->symbol)
		return;
	out->decl = SYMBOL_REF_DECL(out->symbol);
	if (out->decl && TREE_CODE(out->decl) != FUNCTION_DECL)
		out->decl = NULL_TREE;
	out->name = plain_name(XSTR(out->symbol, 0));
}
