#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests completion in bash and zsh.  Every option of --help must be offered, with its possible
# values.  The test types into real shells, in a terminal that tmux makes.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
command -v tmux >/dev/null || skip_all "tmux is not installed"
mkdir dir
: >some.data
mkdir home
cat >home/bashrc <<END
PS1='> '
bind 'set bell-style none' 'set completion-query-items 0' 'set page-completions off' 'set show-all-if-ambiguous on' \
	'set completion-display-width 1'
. "$top/tools/completions/pcce.bash"
END
cat >home/.zshrc <<END
PS1='> '
fpath=("$top/tools/completions" \$fpath)
zstyle ':completion:*' verbose no
zstyle ':completion:*' menu no
autoload -Uz compinit && compinit -u -D
setopt NO_BEEP NO_AUTO_MENU
LISTMAX=0
END

n_servers=0
trap 'stop; rm -rf "$scratch"' EXIT
stop() { [ $n_servers = 0 ] || "${tmux[@]}" kill-server 2>/dev/null; }
# start SHELL: bash or zsh
start() {
	stop
	n_servers=$((n_servers + 1))
	tmux=(tmux -L "pcce-test-$$-$n_servers" -f /dev/null -u)
	case $1 in
	bash) "${tmux[@]}" new-session -d -s shell -x 120 -y 100 \
		"bash --noprofile --rcfile home/bashrc -i" ;;
	zsh) "${tmux[@]}" new-session -d -s shell -x 120 -y 100 \
		"ZDOTDIR='$scratch/home' zsh -d -i" ;;
	esac
	until_screen '^> *$'
}
# until_screen PATTERN: waits for the pattern for two minutes
until_screen() {
	local i
	for ((i = 0; i < 2400; i++)); do
		"${tmux[@]}" capture-pane -t shell -p >screen 2>/dev/null
		grep -q -e "$1" screen && return 0
		sleep 0.05
	done
	return 1
}
# typed LINE PATTERN: types the line and a tab, then compares the screen
typed() {
	"${tmux[@]}" send-keys -t shell C-u C-l
	until_screen '^> *$' || return 1
	"${tmux[@]}" send-keys -t shell -l -- "$1"
	"${tmux[@]}" send-keys -t shell Tab
	until_screen "$2"
}
# completes NAME LINE PATTERN
completes() { if typed "$2" "$3"; then ok "$1"; else not_ok "$1" "wanted: $3" screen; fi; }

for shell in bash zsh; do
	if ! command -v $shell >/dev/null; then
		skip "$shell" "$shell is not installed"
		continue
	fi
	start $shell
	for c in pcce "pcce record" pcce-record pcce-report pcce-top pcce-merge pcce-diff pcce-compare pcce-check pcce-core \
		pcce-decode pcce-encode pcce-config; do
		$c --help | grep -o -e '^ *\(-., \)\?--[a-z-]*' | grep -o -e '--[a-z-]*' |
			sort -u >wanted
		# When the last one is there, all are.
		typed "$c --" "\(^\| \)$(tail -n 1 wanted)\\>"
		grep -o -e '--[a-z-]*' screen | grep -v -x -e -- | sort -u >offered
		is "$shell: all options of $c" "$(comm -23 wanted offered | tr '\n' ' ')" ""
		is "$shell: ... and no others" "$(comm -13 wanted offered | tr '\n' ' ')" ""
	done
	pcce --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort >wanted
	for c in pcce "pcce help"; do
		typed "$c " "^.*\<$(tail -n 1 wanted)\>"
		grep -v '^>' screen | tr -s ' ' '\n' | grep -x -F -f wanted | sort >offered
		is "$shell: $c: all commands" "$(comm -3 wanted offered)" ""
	done
	completes "$shell: a command of pcce" "pcce rep" '^> pcce report'
	completes "$shell: ... and its option" "pcce report --min-p" '^> pcce report --min-percent='
	completes "$shell: ... and a value of it" \
		"pcce report --format=fol" '^> pcce report --format=folded'
	completes "$shell: the command that pcce runs" \
		"pcce run -F 99 -- pcce-conf" '^> pcce run -F 99 -- pcce-config'
	completes "$shell: ... and its files" "pcce run cat som" '^> pcce run cat some.data'
	completes "$shell: an option" "pcce-report --min-p" '^> pcce-report --min-percent='
	formats | sort >wanted
	typed "pcce-report --format=" "^.*$(tail -n 1 wanted)\\>"
	grep -v '^>' screen | tr -s ' ' '\n' | grep . | sed 's/^--format=//' | sort >offered
	is "$shell: formats" "$(comm -3 wanted offered)" ""
	pcce-record --help | sed -n '/^Events:/,/^$/s/^  //p' | tr -s ' ' '\n' | sort >wanted
	for c in record check; do
		typed "pcce-$c --event=" "\<$(tail -n 1 wanted)\>"
		grep -v '^>' screen | tr -s ' ' '\n' | grep . | sed 's/^--event=//' | sort >offered
		is "$shell: events of pcce-$c" "$(comm -3 wanted offered)" ""
	done
	pcce-record --help | sed -n '/^Samplers:/,/^$/s/^  \([a-z]*\) .*/\1/p' >wanted
	typed "pcce-record --sampler=" "\<$(tail -n 1 wanted)\>"
	echo auto | sort - wanted -o wanted
	grep -v '^>' screen | tr -s ' ' '\n' | grep . | sed 's/^--sampler=//' | sort >offered
	is "$shell: samplers" "$(comm -3 wanted offered)" ""
	completes "$shell: a format" "pcce-report --format=fol" '^> pcce-report --format=folded'
	completes "$shell: a format as a word" \
		"pcce-report --format fol" '^> pcce-report --format folded'
	completes "$shell: a list of keys" \
		"pcce-report --sort=self,tot" '^> pcce-report --sort=self,total'
	completes "$shell: a format of pcce-diff" \
		"pcce-diff --format=fol" "^> pcce-diff --format=folded"
	completes "$shell: a recording" "pcce-merge som" "^> pcce-merge some.data"
	completes "$shell: a file" "pcce-report -i som" '^> pcce-report -i some.data'
	completes "$shell: a file with =" \
		"pcce-report --input=som" '^> pcce-report --input=some.data'
	completes "$shell: a folder" "pcce-report --source=d" '^> pcce-report --source=dir/'
	completes "$shell: a value that can be left out" \
		"pcce-encode --dump=js" '^> pcce-encode --dump=json'
	completes "$shell: a program" "pcce-encode som" '^> pcce-encode some.data'
	completes "$shell: what to check" "pcce-check som" '^> pcce-check some.data'
	completes "$shell: an event to check" "pcce-check -e page" '^> pcce-check -e page-faults'
	completes "$shell: an event" "pcce-record -e page" '^> pcce-record -e page-faults'
	completes "$shell: a process" "pcce-record -p $$" "^> pcce-record -p $$"
	completes "$shell: the command that is recorded" \
		"pcce-record -F 99 -- pcce-conf" '^> pcce-record -F 99 -- pcce-config'
	completes "$shell: ... and its files" \
		"pcce-record -F 99 -- cat som" '^> pcce-record -F 99 -- cat some.data'
done
done_testing
