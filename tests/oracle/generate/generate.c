/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * generate SEED DIRECTORY c|c++
 *
 * Writes a random program, whose calls have all shapes in all combinations: main.c and other.c of
 * an executable, lib.c of a shared library, and all.h.  The same seed gives the same program.
 *
 * Functions call each other directly, through global pointers and tables that change, by tail
 * calls, from qsort(), from nested functions and from a handler of SIGUSR1.  They have arguments in
 * registers and on the stack, are static or exported, and leave by longjmp().  In C++ they leave by
 * exceptions, and some are virtual.  A number of calls that is left (`fuel`) ends all recursion, so
 * each program ends.  It prints a number, which is the same with and without instrumentation.
 * A header that the compiler includes in front can define ENTER(), which functions with calls have.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN, OTHER, LIB, MODULES };
enum kind { PLAIN, LONG, WIDE, BULKY, VARIADIC, KINDS };

#define MOST 64	   /* functions */
#define POINTERS 6 /* in each part */
#define TABLES 2

struct function {
	int module;
	enum kind kind;
	bool local, inlined;
	bool leaf; /* calls nothing */
};

struct program {
	uint64_t random;
	bool cxx;
	int n;
	struct function f[MOST];
	FILE *out;
};

/* splitmix64: each seed gives another sequence. */
static unsigned int below(struct program *p, unsigned int n)
{
	uint64_t z = p->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (unsigned int)((z ^ z >> 31) >> 33) % n;
}

static bool percent(struct program *p, unsigned int n)
{
	return below(p, 100) < n;
}

__attribute__((format(printf, 2, 3))) static void put(struct program *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(p->out, format, args);
	va_end(args);
}

/* ---- functions ---------------------------------------------------------------------- */

static void choose_functions(struct program *p)
{
	p->n = 12 + (int)below(p, MOST - 12);
	for (int i = 0; i < p->n; i++) {
		struct function *f = &p->f[i];

		f->module = i < MODULES ? i : (int)below(p, MODULES);
		f->kind = i < MODULES || percent(p, 70) ? PLAIN : (enum kind)below(p, KINDS);
		f->local = i >= MODULES && percent(p, 40);
		f->leaf = percent(p, 12);
		f->inlined = percent(p, 15);
	}
}

static void put_signature(struct program *p, int i)
{
	static const char *const forms[] = {
		"int f%d(int x)",
		"long f%d(long x)",
		"int f%d(int x, long a, long b, long c, long d, long e, long g, int h)",
		"int f%d(int x, struct bulk b)",
		"int f%d(int x, ...)",
	};
	const struct function *f = &p->f[i];

	if (f->local)
		put(p, "static ");
	if (!f->inlined)
		put(p, "APART ");
	put(p, forms[f->kind], i);
}

/* A function that code of the module can name, of any kind or a plain one. */
static int callee(struct program *p, int module, bool plain)
{
	for (;;) {
		int i = (int)below(p, (unsigned int)p->n);
		const struct function *f = &p->f[i];
		bool visible = f->module == module || (!f->local && module != LIB);

		if (visible && (!plain || f->kind == PLAIN))
			return i;
	}
}

static void put_call(struct program *p, int i, const char *x)
{
	static const char *const forms[] = {"f%d(%s)", "(int)f%d(%s)",
					    "f%d(%s, 1, 2, 3, 4, 5, 6, 7)", "f%d(%s, a_bulk)",
					    "f%d(%s, 1, 2.0)"};

	put(p, forms[p->f[i].kind], i, x);
}

/* A call of anything, as an expression. */
static void put_any_call(struct program *p, int module, const char *x)
{
	switch (below(p, p->cxx ? 10 : 8)) {
	case 8:
		put(p, "shapes_%d[(%s) & 1]->go(%s)", module, x, x);
		break;
	case 9:
		put(p, "seconds_%d[(%s) & 1]->more(%s)", module, x, x);
		break;
	case 0:
		put(p, "pointer_%d_%u(%s)", module, below(p, POINTERS), x);
		break;
	case 1:
		put(p, "table_%d_%u[(%s) & 7](%s)", module, below(p, TABLES), x, x);
		break;
	case 2:
		put(p, "shared[(%s) & 7](%s)", x, x);
		break;
	default:
		put_call(p, callee(p, module, false), x);
	}
}

static void put_if(struct program *p)
{
	if (percent(p, 70))
		put(p, "\tif ((x + %u) %% %u)\n\t", below(p, 9), 2 + below(p, 6));
}

/* ---- statements --------------------------------------------------------------------- */

static void put_loop(struct program *p, int module)
{
	put(p, "\tfor (int i = 0; i < (x & 3); i++)\n\t\tx = (x + ");
	put_any_call(p, module, "x + i");
	put(p, ") & 0xffff;\n");
}

static void put_library_call(struct program *p, int module)
{
	switch (below(p, 5)) {
	case 0:
		put(p, "\tx += (int)strlen(text + (x & 15));\n");
		break;
	case 1:
		put(p, "\t{ unsigned int s = x; x += rand_r(&s) & 7; }\n");
		break;
	case 2:
		put(p, "\tx += atoi(text + (x & 7));\n");
		break;
	case 3:
		put(p, "\tx += snprintf(NULL, 0, \"%%d\", x);\n");
		break;
	default:
		put(p,
		    "\t{ int v[3] = {(int)x, (int)x ^ 5, 3}; qsort(v, 3, sizeof(*v), compare_%d); "
		    "x += v[1]; }\n",
		    module);
	}
}

/* Leaves the function, or something that it calls, for a place in it. */
static void put_catch(struct program *p, int module)
{
	if (p->cxx) {
		put(p, "\ttry { struct guard g(x); x += ");
		put_any_call(p, module, "x + 2");
		put(p, "; } catch (%s) { x += 3; ", percent(p, 50) ? "int e" : "...");
		if (percent(p, 30))
			put_call(p, callee(p, module, false), "x");
		else if (percent(p, 30))
			put(p, "throw");
		put(p, "; }\n");
		return;
	}
	put(p, "\t{ jmp_buf here, *volatile saved = top; volatile int y = x; top = &here;\n"
	       "\t  if (!setjmp(here)) y += ");
	put_any_call(p, module, "y + 2");
	put(p, "; else y ^= 9;\n\t  top = saved; x = y & 0xffff; }\n");
}

static void put_nested(struct program *p, int module)
{
	const unsigned int k = below(p, 1000000);

	if (p->cxx) {
		put(p, "\tauto nested%u = [&](int y) { return x + ", k);
		put_any_call(p, module, "y");
		put(p, "; };\n\tx += nested%u(x & 7);\n", k);
		return;
	}
	put(p, "\tauto APART int nested%u(int y);\n\tint nested%u(int y) { return x + ", k, k);
	put_any_call(p, module, "y");
	put(p, "; }\n\tx += nested%u(x & 7)", k);
	if (percent(p, 40))
		put(p, " + apply_%d(nested%u, x & 3)", module, k);
	put(p, ";\n");
}

static void put_statement(struct program *p, int module)
{
	switch (below(p, 14)) {
	case 0:
		put_loop(p, module);
		break;
	case 1:
		put_library_call(p, module);
		break;
	case 2:
		put_catch(p, module);
		break;
	case 3:
		put_nested(p, module);
		break;
	case 4:
		put(p, "\tif (x %% %u == 3) leave(x);\n", 11 + below(p, 40));
		break;
	case 5:
		put_if(p);
		put(p, "\tpointer_%d_%u = f%d;\n", module, below(p, POINTERS),
		    callee(p, module, true));
		break;
	case 6:
		put_if(p);
		put(p, "\tshared[x & 7] = f%d;\n", callee(p, module, true));
		break;
	case 7:
		put(p, "\tx += *(volatile char *)memset(__builtin_alloca((x & 63) + 1), x, 1);\n");
		break;
	default:
		put_if(p);
		put(p, "\tx = (x + ");
		put_any_call(p, module, "x + 1");
		put(p, ") & 0xffff;\n");
	}
}

static void put_function(struct program *p, int i)
{
	const struct function *f = &p->f[i];
	unsigned int n = f->leaf ? 0 : below(p, 5);

	put_signature(p, i);
	put(p, "\n{\n");
	if (f->leaf) {
		put(p, "\tfor (volatile int i = 0; i < 3; i++) x ^= i;\n\treturn x + %d;\n}\n\n",
		    i);
		return;
	}
	put(p, "\tif (--fuel < 0)\n\t\treturn x & 0xffff;\n\tENTER(%d);\n", i);
	while (n--)
		put_statement(p, f->module);
	for (n = below(p, 3); n; n--) {
		put(p, "\tif (x %% %u == 1)\n\t\treturn ", 2 + below(p, 4));
		put_any_call(p, f->module, "x + 5");
		put(p, ";\n");
	}
	if (percent(p, 60)) {
		put(p, "\treturn ");
		put_any_call(p, f->module, "x + 7");
		put(p, ";\n}\n\n");
	} else {
		put(p, "\treturn x & 0xffff;\n}\n\n");
	}
}

/* ---- files -------------------------------------------------------------------------- */

static void put_header(struct program *p)
{
	put(p, "#include <setjmp.h>\n#include <signal.h>\n#include <stdio.h>\n"
	       "#include <stdlib.h>\n#include <string.h>\n"
	       "#define APART __attribute__((noinline))\n"
	       "typedef int (*function)(int);\n");
	put(p, "#ifndef ENTER\n#define ENTER(function)\n#endif\n");
	put(p, "struct bulk { long word[5]; };\nstatic const struct bulk a_bulk = {{1, 2}};\n");
	/* In some programs they are thread-local. */
	put(p, "#define PER_THREAD %s\n", percent(p, 50) ? "__thread" : "");
	put(p, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	put(p, "extern PER_THREAD int fuel;\nextern PER_THREAD jmp_buf *top;\n"
	       "extern PER_THREAD int catching;\nextern function shared[8];\n"
	       "extern const char text[];\n"
	       "__attribute__((noreturn)) void leave_now(int x);\n"
	       "#ifdef __cplusplus\n#define CAN_LEAVE catching\n#else\n"
	       "#define CAN_LEAVE top\n#endif\n"
	       "static inline void leave(int x) { if (CAN_LEAVE) leave_now(x); }\n");
	for (int i = 0; i < p->n; i++) {
		if (p->f[i].local)
			continue;
		put_signature(p, i);
		put(p, ";\n");
	}
	put(p, "#ifdef __cplusplus\n}\n"
	       "struct shape { virtual int go(int x) = 0; };\n"
	       "struct second { int word; virtual int more(int x) = 0; };\n"
	       "struct guard {\n\tint x;\n\tguard(int n) : x(n) {}\n"
	       "\t~guard() { int was = catching; catching = 0; f2(x & 7); catching = was; }\n};\n"
	       "#endif\n");
}

static void put_pointers(struct program *p, int module)
{
	for (int i = 0; i < POINTERS; i++) {
		if (percent(p, 60))
			put(p, "static ");
		put(p, "function %spointer_%d_%d = f%d;\n", percent(p, 20) ? "volatile " : "",
		    module, i, callee(p, module, true));
	}
	for (int i = 0; i < TABLES; i++) {
		put(p, "static %sfunction table_%d_%d[8] = {", percent(p, 30) ? "const " : "",
		    module, i);
		for (int k = 0; k < 8; k++)
			put(p, "f%d, ", callee(p, module, true));
		put(p, "};\n");
	}
}

/* Classes with virtual functions; those of the second base are called through thunks. */
static void put_classes(struct program *p, int module)
{
	for (int i = 0; i < 2; i++) {
		put(p,
		    "struct class_%d_%d : shape, second {\n"
		    "\tint go(int x) override { return --fuel < 0 ? x : ",
		    module, i);
		put_call(p, callee(p, module, false), "x + 1");
		put(p, "; }\n\tint more(int x) override { return --fuel < 0 ? x : ");
		if (percent(p, 50))
			put(p, "go(x + 2)");
		else
			put_call(p, callee(p, module, false), "x + 2");
		put(p, "; }\n};\nstatic class_%d_%d object_%d_%d;\n", module, i, module, i);
	}
	put(p,
	    "static shape *shapes_%d[2] = {&object_%d_0, &object_%d_1};\n"
	    "second *seconds_%d[2] = {&object_%d_1, &object_%d_0};\n",
	    module, module, module, module, module, module);
}

static void put_file(struct program *p, int module)
{
	put(p, "#include \"all.h\"\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	for (int i = 0; i < p->n; i++) {
		if (p->f[i].module != module || !p->f[i].local)
			continue;
		put_signature(p, i);
		put(p, ";\n");
	}
	put_pointers(p, module);
	if (p->cxx)
		put_classes(p, module);
	put(p, "static APART int apply_%d(int (*f)(int), int x) { return f(x) + 1; }\n", module);
	put(p,
	    "static int compare_%d(const void *a, const void *b)\n{\n"
	    "\treturn ",
	    module);
	put_any_call(p, module, "*(const int *)a & 15");
	put(p, " %% 3 - 1 + 0 * *(const int *)b;\n}\n\n");
	for (int i = 0; i < p->n; i++)
		if (p->f[i].module == module)
			put_function(p, i);
	if (module == LIB) {
		put(p, "PER_THREAD int fuel = 50;\nPER_THREAD jmp_buf *top;\n"
		       "PER_THREAD int catching;\n"
		       "extern const char text[] = \"12 and some more of the text of a library\";\n"
		       "function shared[8] = {");
		for (int k = 0; k < 8; k++)
			put(p, "f%d, ", callee(p, module, true));
		put(p, "};\nvoid leave_now(int x)\n{\n"
		       "#ifdef __cplusplus\n\tthrow x;\n#else\n\tlongjmp(*top, 1);\n#endif\n}\n");
	}
	put(p, "#ifdef __cplusplus\n}\n#endif\n");
}

static void put_main(struct program *p)
{
	put(p, "\nstatic void handler(int sig)\n{\n\tint left = fuel, was = catching;\n"
	       "\tjmp_buf *at = top;\n\n\t(void)sig;\n\tfuel = 6;\n\ttop = NULL;\n\tcatching = 0;\n"
	       "\t(void)");
	put_any_call(p, MAIN, "left & 7");
	put(p, ";\n\tfuel = left;\n\ttop = at;\n\tcatching = was;\n}\n\n"
	       "static int once(int x)\n{\n\tfuel = 120;\n#ifdef __cplusplus\n"
	       "\ttry {\n\t\tcatching = 1;\n\t\tx = ");
	put_any_call(p, MAIN, "x");
	put(p, ";\n\t} catch (int e) {\n\t\tx = e;\n\t}\n\tcatching = 0;\n#else\n\tx = ");
	put_any_call(p, MAIN, "x");
	put(p, ";\n#endif\n\treturn x & 0xffff;\n}\n\n"
	       "int main(int argc, char **argv)\n{\n\tint n = argc > 1 ? atoi(argv[1]) : 10, sum = "
	       "0;\n\n"
	       "\tsignal(SIGUSR1, handler);\n\tfor (int i = 0; i < n; i++)\n"
	       "\t\tsum = (sum + once(i + sum)) & 0xffffff;\n"
	       "\tprintf(\"%%d\\n\", sum);\n\treturn 0;\n}\n");
}

static void open_file(struct program *p, const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	p->out = fopen(path, "we");
	if (!p->out) {
		fprintf(stderr, "generate: cannot write '%s': %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

static void close_file(struct program *p)
{
	if (ferror(p->out) | fclose(p->out)) {
		fprintf(stderr, "generate: cannot write a file: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[MODULES] = {"main.c", "other.c", "lib.c"};
	struct program p = {0};

	if (argc != 4) {
		fprintf(stderr, "usage: generate SEED DIRECTORY c|c++\n");
		return 2;
	}
	p.random = strtoull(argv[1], NULL, 10);
	p.cxx = !strcmp(argv[3], "c++");
	choose_functions(&p);
	open_file(&p, argv[2], "all.h");
	put_header(&p);
	close_file(&p);
	for (int module = 0; module < MODULES; module++) {
		open_file(&p, argv[2], names[module]);
		put_file(&p, module);
		if (module == MAIN)
			put_main(&p);
		close_file(&p);
	}
	return 0;
}
