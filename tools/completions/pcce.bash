# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Completes pcce and the commands pcce-record, pcce-report, pcce-top, pcce-merge, pcce-push, pcce-pull,
# pcce-diff, pcce-compare, pcce-check, pcce-core, pcce-decode, pcce-encode and pcce-config in bash.  It
# needs only bash.
# Commands, options, formats, samplers and events come from the --help of the installed command.
# This file lists the other values that options take.

_pcce_options() {
	"$1" --help 2>/dev/null | sed -n -e 's/^ *\(-[A-Za-z?], \)\{0,1\}\(--[a-z-]*=\{0,1\}\).*/\2/p'
}

# _pcce_named COMMAND TITLE: the first word of each line of a list in its --help
_pcce_named() {
	"$1" --help 2>/dev/null | sed -n -e "/^$2:/,/^\$/s/^  \([a-z][a-z0-9-]*\)  *.*/\1/p"
}

_pcce_events() { "$1" --help 2>/dev/null | sed -n -e '/^Events:/,/^$/s/^  / /p'; }

# _pcce_list WORDS: completes the last of several words that commas separate.
_pcce_list() {
	local before=
	case $cur in *,*) before=${cur%,*}, ;; esac
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
	compopt -o nospace
}

_pcce_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

_pcce_files() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

# _pcce_value OPTION: completes the value of the option, or fails if the option is not known here.
_pcce_value() {
	local from

	case $command$1 in
	*--format) _pcce_words "$(_pcce_named "$path" Formats)" ;;
	*--input | *-i | *--output | *-o | *--profile | *--dictionary | *encode-p | *decode-d | *--crash | *decode-c)
		_pcce_files -f ;;
	*--select | *decode-x | *record--only) ;;
	*--source | *--symbols | *decode-s | *core-s) _pcce_files -d ;;
	*--color) _pcce_words "always never auto" ;;
	*diff--by) _pcce_words "calls names" ;;
	*--by) _pcce_words "function line file module" ;;
	*--call-sites) _pcce_words "address line none" ;;
	*--recursion) _pcce_words "keep direct all" ;;
	*--hot-by) _pcce_words "self total" ;;
	*--suffix | *check--probe) ;;
	*--demangle) _pcce_words "full simple none" ;;
	*--sort) _pcce_list "self total samples name module line" ;;
	*--dump | *encode-d) _pcce_words "text json" ;;
	*--sampler | *record-b) _pcce_words "auto $(_pcce_named "$path" Samplers)" ;;
	*record--engine) _pcce_words "cct hcct lossy empty" ;;
	*record--burst) _pcce_words "2ms/20ms 0.2ms/2ms 2ms/20ms,adaptive" ;;
	*record--count) _pcce_words "calls" ;;
	*record--frames) _pcce_words "foreign outside all none" ;;
	*record--signal) _pcce_words "WINCH URG USR1 USR2 PROF IO RTMIN+5" ;;
	*record--event | *record-e | *check--event | *check-e | *top--event | *top-e)
		from=${path/%check/record}
		_pcce_words "$(_pcce_events "${from/%top/record}")"
		;;
	*record--pid | *record-p | *top--pid | *top-p) _pcce_words "$(cd /proc && printf '%s\n' [0-9]*)" ;;
	*record--uid | *record-u) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
	*record--cgroup | *record-G | *record--cpu | *record-C | *record--duration | *record--switch-output) ;;
	*--pid | *--tid | *--comm | *--event | *--time | *--focus | *--ignore | *--under) ;;
	*report--hot | *record--hot | *compare--phi | *--min-percent | *--max-depth | *--max-rows | *diff--lines | *diff-n) ;;
	*--count | *record-c | *top-c | *--frequency | *record-F | *top-F | *top-n | *top--iterations) ;;
	*top--delay | *top--window) ;;
	*) return 1 ;;
	esac
}

# For pcce-record: prints where the recorded command begins in COMP_WORDS, unless the cursor
# precedes the command.
_pcce_command_at() {
	local i
	for ((i = 1; i <= COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			[ "$i" -lt "$COMP_CWORD" ] && echo $((i + 1))
			return
			;;
		-[ceFobpCuG] | =) i=$((i + 1)) ;;
		-*) [ "${COMP_WORDS[i + 1]-}" = = ] || case ${COMP_WORDS[i]} in
			--sampler | --engine | --event | --frequency | --output | --pid | --cpu | --uid | --cgroup | --duration | --switch-output) i=$((i + 1)) ;;
			esac ;;
		*)
			[ -n "${COMP_WORDS[i]}" ] && echo "$i"
			return
			;;
		esac
	done
}

# Completes pcce COMMAND as pcce-COMMAND.
_pcce_subcommand() {
	local words=("${COMP_WORDS[@]:1}") cur=${COMP_WORDS[COMP_CWORD]} sub=${COMP_WORDS[1]-}
	if [ "$COMP_CWORD" = 1 ] || [[ $sub = help && $COMP_CWORD = 2 ]]; then
		case $cur in
		-*) _pcce_words "$(_pcce_options "$1")" ;;
		*) _pcce_words "$(_pcce_named "$1" Commands)" ;;
		esac
		return
	fi
	local COMP_WORDS=("${words[@]}") COMP_CWORD=$((COMP_CWORD - 1))
	[ "$sub" != run ] || sub=record
	_pcce "$1-$sub"
}

_pcce() {
	if [ "${1##*/}" = pcce ]; then
		_pcce_subcommand "$1"
		return
	fi
	local path=$1 command=${1##*/} at
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [ "$command" = pcce-record ]; then
		at=$(_pcce_command_at)
		if [ -n "$at" ] && declare -F _command_offset >/dev/null; then
			_command_offset "$at"
			return
		elif [ -n "$at" ]; then
			if [ "$at" = "$COMP_CWORD" ]; then _pcce_files -c -f; else _pcce_files -f; fi
			return
		fi
	fi
	# `=' is a separate word, unless COMP_WORDBREAKS was changed.
	case $cur in
	=)
		cur=
		_pcce_value "$before"
		return
		;;
	--*=*)
		before=${cur%%=*}
		cur=${cur#*=}
		_pcce_value "$before"
		mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]/#/$before=}")
		return
		;;
	esac
	if [ "$before" = = ]; then
		_pcce_value "${COMP_WORDS[COMP_CWORD - 2]}"
	elif [[ $before == -* && $before != -- && $before != --color && $before != --hot && $before != --dump &&
		$before != -d ]] && _pcce_value "$before"; then
		:
	elif [[ $cur == -* ]]; then
		_pcce_words "$(_pcce_options "$path")"
		case ${COMPREPLY[*]-} in *=) compopt -o nospace ;; esac
	elif [[ $command == pcce-encode || $command == pcce-merge || $command == pcce-diff ||
		$command == pcce-compare || $command == pcce-push ]]; then
		_pcce_files -f
	elif [ "$command" = pcce-core ] || [ "$command" = pcce-decode ]; then
		_pcce_files -f
	elif [ "$command" = pcce-record ] || [ "$command" = pcce-check ]; then
		_pcce_files -c -f
	fi
}

complete -F _pcce pcce pcce-record pcce-report pcce-top pcce-merge pcce-push pcce-pull pcce-diff \
	pcce-compare pcce-check pcce-core pcce-decode pcce-encode pcce-config pcced
