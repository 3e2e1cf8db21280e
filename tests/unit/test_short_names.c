/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shortens names alone and together, finds names by what was shown, and survives damaged ones. */
#include <stdlib.h>
#include <string.h>
#include "symbols/short_name.h"
#include "symbols/short_names.h"
#include "tests/unit/tap.h"

static char *shorten(const char *full)
{
	struct short_name *s = short_name_new(full);
	char *text = s ? short_name_text(s) : NULL;

	short_name_free(s);
	return text;
}

/* ---- one name ---------------------------------------------------------------------- */

#define SAME NULL /* the name stays as it is */
#define ANON "(anonymous namespace)"

static const struct {
	const char *full, *want;
} names[] = {
	/* templates and parameters */
	{"f(int)", "f"},
	{"a::b::f(int, char const*) const", "a::b::f"},
	{"A<int>::f(int)", "A::f"},
	{"A<B<C<int> > >::f()", "A::f"},
	{"A<B<int>>::f<D<E>>(F<G>)", "A::f"},
	{"std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > "
	 ">::find(int "
	 "const&) const",
	 "std::map::find"},
	{"std::array<int, (4)>::at(unsigned long)", "std::array::at"},
	{"A<((1)>(2))>::f()", "A::f"},
	{"A<(Color)1, -5, 7ul, 'c', true>::f()", "A::f"},
	{"A<&(f(int))>::g()", "A::g"},
	{"A<&B::operator<>::g()", "A::g"},
	{"A<&(B::operator<)>::g()", "A::g"},
	{"A<((int)5)<((int)3)>::f()", "A::f"},
	{"std::vector<int>::~vector()", "std::vector::~vector"},
	{"~A", SAME},
	{"A<int>::A(A<int>&&)", "A::A"},
	{"f(...)", "f"},
	{"f(int, ...)", "f"},
	/* return types */
	{"void f<int>(int)", "f"},
	{"unsigned long f<int>(int)", "f"},
	{"int const& a::f<int>(int)", "a::f"},
	{"std::enable_if<std::is_same<int, int>::value, void>::type f<int>(int)", "f"},
	{"decltype ((*{parm#1})<(*{parm#2})) f<int*>(int*)", "f"},
	{"decltype(auto) f<int>(int)", "f"},
	{"auto f<int>(int)::{lambda(int)#1}::operator()<char>(char) const",
	 "f::{lambda#1}::operator()"},
	{"std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<<"},
	{"int (*f<int>(int))(double)", SAME},
	/* operators */
	{"operator<(A const&, A const&)", "operator<"},
	{"operator<<(A&, int)", "operator<<"},
	{"operator<=>(A, A)", "operator<=>"},
	{"operator>(A, A)", "operator>"},
	{"operator>>(A, A)", "operator>>"},
	{"operator>>=(A, A)", "operator>>="},
	{"operator-(A, A)", "operator-"},
	{"A::operator->() const", "A::operator->"},
	{"A::operator->*(int)", "A::operator->*"},
	{"A::operator()(int, int)", "A::operator()"},
	{"A::operator()<int>(int)", "A::operator()"},
	{"A::operator[](unsigned long)", "A::operator[]"},
	{"A<int>::operator,(int)", "A::operator,"},
	{"bool operator< <int>(A<int>, A<int>)", "operator<"},
	{"bool operator><int>(A<int>, A<int>)", "operator>"},
	{"bool operator-<int>(A<int>, A<int>)", "operator-"},
	{"bool operator==<int>(A<int>, A<int>)", "operator=="},
	{"A::operator!() const", "A::operator!"},
	{"A::operator~() const", "A::operator~"},
	{"A::operator bool() const", "A::operator bool"},
	{"A::operator unsigned long() const", "A::operator unsigned long"},
	{"A::operator char const*() const", "A::operator char const*"},
	{"A::operator std::vector<int>&()", "A::operator std::vector&"},
	{"A<int>::operator B<C<int> >()", "A::operator B"},
	{"operator new(unsigned long)", "operator new"},
	{"operator new[](unsigned long)", "operator new[]"},
	{"operator delete[](void*, std::align_val_t)", "operator delete[]"},
	{"operator\"\" _km(long double)", "operator\"\" _km"},
	{"A::operator co_await()", "A::operator co_await"},
	{"operators::f(int)", "operators::f"},
	{"my_operator(int)", "my_operator"},
	/* lambdas and other places without a name */
	{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
	{"f(int)::{lambda(std::vector<int> const&)#2}::operator()(std::vector<int> const&) const",
	 "f::{lambda#2}::operator()"},
	{"A::f() const::{lambda()#1}::operator()() const", "A::f::{lambda#1}::operator()"},
	{"f()::{lambda()#1}::operator()() const::{lambda()#1}::operator()() const",
	 "f::{lambda#1}::operator()::{lambda#1}::operator()"},
	{"f()::{lambda(int)#1}::_FUN(int)", "f::{lambda#1}::_FUN"},
	{"f()::{unnamed type#1}::g()", "f::{unnamed type#1}::g"},
	{"f(int)::{default arg#1}::{lambda()#1}::operator()() const",
	 "f::{default arg#1}::{lambda#1}::operator()"},
	{"std::sort<int*, main::{lambda(int, int)#1}>(int*, int*, main::{lambda(int, int)#1})",
	 "std::sort"},
	{"__sort<int*, work_sort(int)::<lambda(int, int)> >", "__sort"},
	{"work_sort(int)::<lambda(int, int)>", "work_sort::<lambda(int, int)>"},
	{ANON "::f(int)", ANON "::f"},
	{"a::" ANON "::A<" ANON "::B>::f(" ANON "::B)", "a::" ANON "::A::f"},
	/* function pointers */
	{"f(int (*)(char, long))", "f"},
	{"f(void (A::*)(int) const)", "f"},
	{"std::function<void (int, std::map<int, long>)>::operator()(int, std::map<int, long>) "
	 "const",
	 "std::function::operator()"},
	{"int std::__invoke<int (*&)(int, int), int, int>(int (*&)(int, int), int&&, int&&)",
	 "std::__invoke"},
	/* what follows parameters */
	{"A::f() const", "A::f"},
	{"A::f() volatile", "A::f"},
	{"A::f() const volatile", "A::f"},
	{"A::f() &", "A::f"},
	{"A::f() &&", "A::f"},
	{"A::f() const&", SAME},
	{"A::f() const &", "A::f"},
	{"A::f() const &&", "A::f"},
	{"void f<int>(int) requires (sizeof (int))>(2)", "f"},
	/* tags and clones */
	{"f[abi:cxx11](int)", "f"},
	{"std::__cxx11::to_string[abi:cxx11](int)", "std::to_string"},
	{"std::__1::vector<int, std::__1::allocator<int> >::size() const", "std::vector::size"},
	{"A<int>::f[abi:v1]<B>() const", "A::f"},
	{"f(int) [clone .isra.0]", "f.isra.0"},
	{"f(int) [clone .constprop.0] [clone .isra.0]", "f.constprop.0.isra.0"},
	{"A<int>::f(int) const [clone .cold]", "A::f.cold"},
	{"f(int) [clone .part.0", SAME},
	{"f(int)@plt", "f@plt"},
	/* what the demangler puts before names */
	{"vtable for A<int>", "vtable for A"},
	{"guard variable for f(int)::x", "guard variable for f::x"},
	{"non-virtual thunk to A<int>::f(int)", "non-virtual thunk to A::f"},
	{"virtual thunk to A::~A()", "virtual thunk to A::~A"},
	{"TLS wrapper function for a::x", SAME},
	/* names of others, and what is no name */
	{"", SAME},
	{"main", SAME},
	{"f.isra.0", SAME},
	{"foo.constprop.0.cold", SAME},
	{"free@plt", SAME},
	{"[unknown]", SAME},
	{"[a signal interrupted it]", SAME},
	{"/usr/lib/my prog(1)/x<y>.so", SAME},
	{"core::fmt::write::h0123456789abcdef", SAME},
	{"<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", SAME},
	{"_$LT$T$u20$as$u20$core..any..Any$GT$::type_id::h0123456789abcdef", SAME},
	{"main.(*Server).Serve", SAME},
	{"runtime.mallocgc", SAME},
	{"type..eq.[2]string", SAME},
	{"LazyCompile:~f (eval at <anonymous>)", SAME},
	{"Ljava/lang/Foo;::bar(I)V", SAME},
	{"caml_apply2", SAME},
	{"a function", SAME},
	/* damaged */
	{"f(", SAME},
	{"f)", SAME},
	{"f(int", SAME},
	{"f(int))", SAME},
	{"A<int", SAME},
	{"A<int>>::f()", SAME},
	{"A>::f()", SAME},
	{"A<(>::f()", SAME},
	{"A<)>::f()", SAME},
	{"{lambda(int)#1", SAME},
	{"}f()", SAME},
	{"f()g()", SAME},
	{"f() g()", SAME},
	{"<", SAME},
	{"(", SAME},
	{" ", SAME},
	{"operator", SAME},
	{"operator<", SAME},
	{"operator<<", SAME},
	{"operator(", SAME},
	{"decltype(", SAME},
	{"f[abi:", SAME},
	{"(anonymous namespace)", SAME},
};

static void shortens(const char *full, const char *want)
{
	char *got = shorten(full);

	want = want ? want : full;
	tap_ok(got && !strcmp(got, want), full, "is \"%s\", not \"%s\"", got ? got : "?", want);
	if (got)
		tap_ok(short_name_matches(got, full), "its short name names it", "%s", full);
	free(got);
}

/* Real names: of libstdc++ and of a program with containers, algorithms and regular expressions. */
static void shortens_real_names(void)
{
	static const struct {
		const char *mangled, *want;
	} real[] = {
#include "tests/unit/short_names.inc"
	};
	struct symbol_table *t = symbol_table_new(SYMBOL_NAMES_FULL);
	size_t n = sizeof(real) / sizeof(real[0]), wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const char *full =
			symbol_table_string(t, symbol_table_demangled(t, real[i].mangled));
		char *got = shorten(full);

		if (!got || strcmp(got, real[i].want) != 0 || !short_name_matches(got, full)) {
			printf("# %s: %s\n", full, got ? got : "?");
			wrong++;
		}
		free(got);
	}
	tap_ok(n >= 200 && !wrong, "real names", "%zu of %zu differ", wrong, n);
	symbol_table_free(t);
}

/* ---- several names ----------------------------------------------------------------- */

#define MOST 6

static const struct {
	const char *what, *full[MOST], *want[MOST];
} sets[] = {
	{"one name", {"f(int)"}, {"f"}},
	{"overloads", {"f(int)", "f(char)"}, {"f(int)", "f(char)"}},
	{"overloads by the second parameter",
	 {"f(int, int)", "f(int, char)"},
	 {"f(…, int)", "f(…, char)"}},
	{"overloads by number", {"f()", "f(int)"}, {"f()", "f(int)"}},
	{"a longer overload", {"f(int)", "f(int, A<char>)"}, {"f(int)", "f(…)"}},
	{"const", {"A::f(int)", "A::f(int) const"}, {"A::f(int)", "A::f(int) const"}},
	{"const with two parameters",
	 {"A::f(int, int)", "A::f(int, int) const"},
	 {"A::f(…)", "A::f(…) const"}},
	{"references", {"A::f() &", "A::f() &&"}, {"A::f() &", "A::f() &&"}},
	{"instances",
	 {"std::vector<int, std::allocator<int> >::size() const",
	  "std::vector<A<int>, std::allocator<A<int> > >::size() const"},
	 {"std::vector<int>::size", "std::vector<A>::size"}},
	{"instances by the second argument",
	 {"map<int, long, x>::find(int)", "map<int, char, x>::find(int)"},
	 {"map<…, long>::find", "map<…, char>::find"}},
	{"instances by an inner argument",
	 {"v<A<B<int>, C>, D>::f()", "v<A<B<char>, C>, D>::f()"},
	 {"v<A<B<int>>>::f", "v<A<B<char>>>::f"}},
	{"instances and overloads",
	 {"v<int>::push(int const&)", "v<int>::push(int&&)", "v<char>::push(char&&)"},
	 {"v<int>::push(int const&)", "v<int>::push(int&&)", "v<char>::push"}},
	{"a template and a function", {"void f<int>(int)", "f(int)"}, {"f<int>", "f"}},
	{"return types", {"int f<A>()", "char f<A>()"}, {"int f", "char f"}},
	{"lambdas by number",
	 {"f()::{lambda()#1}::operator()() const", "f()::{lambda()#2}::operator()() const"},
	 {"f::{lambda#1}::operator()", "f::{lambda#2}::operator()"}},
	{"lambdas by parameters",
	 {"f()::{lambda(int)#1}::operator()(int) const", "f()::{lambda(A)#1}::operator()(A) const"},
	 {"f::{lambda(int)#1}::operator()", "f::{lambda(A)#1}::operator()"}},
	{"lambdas of overloads",
	 {"f(int)::{lambda()#1}::operator()() const", "f(A)::{lambda()#1}::operator()() const"},
	 {"f(int)::{lambda#1}::operator()", "f(A)::{lambda#1}::operator()"}},
	{"sort with lambdas",
	 {"void sort<int*, g()::{lambda(int, int)#1}>(int*, int*, g()::{lambda(int, int)#1})",
	  "void sort<int*, g()::{lambda(int, int)#2}>(int*, int*, g()::{lambda(int, int)#2})"},
	 {"sort<…, g()::{lambda(int, int)#1}>", "sort<…, g()::{lambda(int, int)#2}>"}},
	{"tags", {"f[abi:a]()", "f[abi:b]()"}, {"f[abi:a]", "f[abi:b]"}},
	{"inline namespaces",
	 {"std::f(std::string)", "std::__cxx11::f(std::__cxx11::basic_string<char>)"},
	 {"std::f", "std::__cxx11::f"}},
	{"clones", {"f(int)", "f(int) [clone .isra.0]"}, {"f", "f.isra.0"}},
	{"a clone in C++ and one in C", {"f() [clone .cold]", "f.cold"}, {"f().cold", "f.cold"}},
	{"a function in C and one in C++", {"f", "f(int)"}, {"f", "f(int)"}},
	{"two spellings of one name",
	 {"A<B<int> >::f()", "A<B<int>>::f()"},
	 {"A<B<int> >::f()", "A<B<int>>::f()"}},
	{"function pointers",
	 {"f(int (*)(char))", "f(int (*)(A<long>))"},
	 {"f(int (*)(char))", "f(int (*)(A))"}},
	{"names in anonymous namespaces",
	 {"(anonymous namespace)::f(int)", "f(int)"},
	 {"(anonymous namespace)::f", "f"}},
	{"operators",
	 {"operator<<(A&, int)", "operator<<(A&, char)", "operator<(A&, int)"},
	 {"operator<<(…, int)", "operator<<(…, char)", "operator<"}},
	{"three ways to differ",
	 {"A<int>::f(int)", "A<int>::f(char)", "A<char>::f(int)", "A<char>::f(int) const",
	  "B<int>::f(int)"},
	 {"A<int>::f(int)", "A<int>::f(char)", "A<char>::f(int)", "A<char>::f(int) const", "B::f"}},
};

static void tells_apart(const char *what, const char *const *full, const char *const *want)
{
	struct symbol_table *t = symbol_table_new(SYMBOL_NAMES_FULL);
	uint32_t strings[2 * MOST];
	size_t n = 0;

	for (; n < MOST && full[n]; n++)
		strings[n] = symbol_table_intern(t, full[n]);
	/* Names occur more than once. */
	memcpy(strings + n, strings, n * sizeof(*strings));
	tap_ok(!short_names_choose(t, strings, 2 * n), what, "no memory");
	for (size_t i = 0; i < n; i++) {
		const char *got = symbol_table_short(t, strings[i]);

		tap_ok(!strcmp(got, want[i]), full[i], "is %s, not %s", got, want[i]);
		for (size_t k = 0; k < n; k++)
			tap_ok(k == i || strcmp(got, symbol_table_short(t, strings[k])), what,
			       "%s is like %s", full[i], full[k]);
	}
	tap_ok(!strcmp(symbol_table_shown(t, strings[0]), want[0]), "people see the short name",
	       "%s", want[0]);
	symbol_table_show_full(t, true);
	tap_ok(!strcmp(symbol_table_shown(t, strings[0]), full[0]), "people see the whole name",
	       "%s", full[0]);
	symbol_table_free(t);
}

/* ---- copied names ------------------------------------------------------------------ */

static void finds_names(void)
{
	static const char full[] =
		"std::map<int, A<long>, std::less<int> >::find(int const&) const",
			  other[] = "void f<int, A<B> >(A<C>, int, long)";
	static const struct {
		const char *text, *full;
		bool match;
	} tries[] = {
		{full, full, true},
		{"std::map::find", full, true},
		{"std::map<int>::find", full, true},
		{"std::map<…, A>::find", full, true},
		{"std::map<…, A<long>>::find", full, true},
		{"std::map<…, std::less>::find(int const&) const", full, true},
		{"std::map<int, A<long>, std::less<int> >::find", full, true},
		{"std::map::find(…) const", full, true},
		{"std::map::find(…)", full, false},
		{"std::map::find()", full, false},
		{"std::map<long>::find", full, false},
		{"std::map<…, long>::find", full, false},
		{"std::map<…, A<int>>::find", full, false},
		{"std::map<>::find", full, false},
		{"std::map::fin", full, false},
		{"std::map::find2", full, false},
		{"map::find", full, false},
		{"f", other, true},
		{"f<int>", other, true},
		{"f<…, A<B>>(…, int, …)", other, true},
		{"f(A, …)", other, true},
		{"f(…, long)", other, true},
		{"f(A)", other, false},
		{"f(…, A)", other, false},
		{"f(A, int, long, …)", other, true},
		{"void f<int, A<B> >(A<C>, int, long)", other, true},
		{"int f<int, A<B> >(A<C>, int, long)", other, false},
		{"f.isra.0", "f(int) [clone .isra.0]", true},
		{"f", "f(int) [clone .isra.0]", false},
		{"", "", true},
		{"", "f", false},
		{"f", "", false},
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		tap_ok(short_name_matches(tries[i].text, tries[i].full) == tries[i].match,
		       tries[i].text, "%s %s", tries[i].match ? "does not match" : "matches",
		       tries[i].full);
}

/* ---- damaged names ----------------------------------------------------------------- */

/* No text is lost by opening all folds, and no input is too deep or too odd. */
static void survives(void)
{
	static const char *const parts[] = {
		"<",  ">",  "(",  ")", "A",	   "::",     "operator", " ",
		",",  "{",  "}",  "#", "[abi:",	   "]",	     "const",	 "…",
		"->", "<<", "&&", "f", " [clone ", "lambda", "decltype", "*"};
	uint64_t state = 1;
	char name[400], *deep = malloc(200001);
	struct symbol_table *t = symbol_table_new(SYMBOL_NAMES_FULL),
			    *seen = symbol_table_new(SYMBOL_NAMES_FULL);
	uint32_t *strings = calloc(20000, sizeof(*strings));
	size_t n = 0, lost = 0, alike;

	memset(deep, '<', 200000);
	for (size_t i = 0; i < 200000; i += 2)
		deep[i] = 'A';
	deep[200000] = 0;
	shortens(deep, SAME);
	for (long i = 0; i < 20000; i++) {
		char *text;

		*name = 0;
		for (uint32_t k = tap_random(&state) % 24, at = 0; k-- > 0;)
			at += snprintf(name + at, sizeof(name) - at, "%s",
				       parts[tap_random(&state) % 24]);
		text = shorten(name);
		lost += !text || strlen(text) > strlen(name) || !short_name_matches(name, name);
		free(text);
		strings[n++] = symbol_table_intern(t, name);
	}
	tap_ok(!lost, "random names", "%zu are wrong", lost);
	tap_ok(!short_names_choose(t, strings, n), "random names together", "no memory");
	for (size_t i = 0; i < n; i++)
		symbol_table_intern(seen, symbol_table_short(t, strings[i]));
	alike = symbol_table_count(t) - symbol_table_count(seen);
	tap_ok(!alike, "no two of them look the same", "%zu do", alike);
	symbol_table_free(t);
	symbol_table_free(seen);
	free(strings);
	free(deep);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		shortens(names[i].full, names[i].want);
	shortens_real_names();
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		tells_apart(sets[i].what, sets[i].full, sets[i].want);
	finds_names();
	survives();
	return tap_done();
}
