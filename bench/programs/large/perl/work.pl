# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The work of the measured Perl: calls, closures, objects, hashes, sorting, strings and regular
# expressions.  Uses no module.  Prints a checksum of each part.

sub checksum { return unpack("%32C*", join("|", @_)) . " " . length(join("|", @_)); }

sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }

sub closures {
	my @f = map { my $k = $_; sub { my $sum = 0; $sum += $k * $_ for @_; return $sum } } 1 .. 20;
	my $total = 0;
	for my $i (1 .. 1500) { $total += $_->($i, $i + 1, $i % 7) for @f[$i % 10 .. $i % 10 + 4]; }
	return $total;
}

package Account;
sub new { my ($class, %args) = @_; return bless { balance => 0, log => [], %args }, $class; }
sub balance { my $self = shift; $self->{balance} = shift if @_; return $self->{balance}; }
sub pay {
	my ($self, $sum) = @_;
	$self->balance($self->balance + $sum);
	$self->note($sum);
	return $self;
}
sub note {
	my ($self, $what) = @_;
	push @{$self->{log}}, $what;
	shift @{$self->{log}} if @{$self->{log}} > 9;
}
package Savings;
our @ISA = ('Account');
sub note { my ($self, $what) = @_; $self->SUPER::note("saved $what"); }
package main;

sub objects {
	my @accounts = map { ($_ % 2 ? 'Account' : 'Savings')->new(owner => "o$_") } 1 .. 40;
	$accounts[$_ % 40]->pay($_ % 13 - 4)->pay(1) for 1 .. 8000;
	return map { $_->balance, @{$_->{log}} } @accounts;
}

sub hashes {
	my (%count, %groups);
	for my $i (1 .. 20000) {
		my $key = "k" . ($i * 7919 % 1013);
		$count{$key}++;
		push @{$groups{substr($key, 1, 1)}}, $i if $i % 5 == 0;
	}
	my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
	return @order[0 .. 9], map { scalar @{$groups{$_}} } sort keys %groups;
}

sub strings {
	my ($text, @out) = ("");
	for my $i (1 .. 6000) {
		$text .= sprintf("%05d:%s;", $i * 31 % 9973, chr(97 + $i % 26) x ($i % 5));
	}
	push @out, length $text, ($text =~ tr/a/b/), index($text, "00999");
	push @out, ucfirst reverse(substr($text, 50, 20));
	push @out, join(",", map { lc } grep { /^0[0-4]/ } split(/;/, uc $text)) for 1 .. 2;
	return @out;
}

sub expressions {
	my ($found, $changed) = (0, "");
	for my $i (1 .. 4000) {
		my $line = sprintf("%02d:%02d user%d\@host%d GET /p/%d?q=%d", $i % 24, $i % 60,
			$i % 91, $i % 13, $i, $i * $i);
		if ($line =~ /^(\d+):(\d+) (\w+)@(\w+) (?:GET|PUT) (\/[^?]*)\?q=(\d+)$/) {
			$found += $1 + $2 + $6;
		}
		(my $copy = $line) =~ s/(\d+)/<$1>/g;
		$copy =~ s{user<(\d+)>}{"u" . ($1 + 1)}e;
		$changed .= $copy if $i % 100 == 0;
	}
	return $found, $changed;
}

sub failures {
	my $caught = 0;
	for my $i (1 .. 3000) {
		local $depth = $i;
		eval { die { code => $i } if $i % 3; 1 } or $caught += $@->{code};
	}
	return $caught;
}

for my $part (qw(closures objects hashes strings expressions failures)) {
	print "$part ", checksum(map { &$part() } 1 .. 10), "\n";
}
print "fib ", fib(20), "\n";
