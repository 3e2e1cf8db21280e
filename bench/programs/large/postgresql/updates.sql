-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

create table account (id int primary key, owner text not null, balance numeric(12,2) not null,
	check (balance > -1000000));

create table entry (id serial primary key, account int references account, change numeric(12,2),
	note text);

create index on entry (account, id);

insert into account select i, 'owner ' || i, 1000 from generate_series(1, 500) i;

create function transfer(source int, target int, sum numeric) returns numeric language plpgsql as
$$
declare
	left_over numeric;
begin
	update account set balance = balance - sum where id = source returning balance into left_over;
	update account set balance = balance + sum where id = target;
	insert into entry (account, change, note) values (source, -sum, format('to %s', target)),
		(target, sum, format('from %s', source));
	if left_over < 0 then
		raise exception 'account % has not enough', source;
	end if;
	return left_over;
exception when raise_exception then
	return null;
end
$$;

do $$
declare
	i int;
	failed int := 0;
begin
	for i in 1..3000 loop
		if transfer(1 + i * 7919 % 500, 1 + i * 31 % 500, i % 900) is null then
			failed := failed + 1;
		end if;
	end loop;
	raise notice '% failed', failed;
end
$$;

do $$
declare
	row record;
	checked int := 0;
begin
	for row in select id, balance from account order by id loop
		perform 1 from entry where account = row.id
			having 1000 + coalesce(sum(change), 0) = row.balance;
		if found then
			checked := checked + 1;
		end if;
	end loop;
	update account set owner = owner || ' checked ' || checked where id = 1;
end
$$;

delete from entry where id % 3 = 0;

vacuum entry;

update entry set note = upper(note) where account < 250;

select owner, balance from account order by balance desc, id limit 5;

select owner from account where id = 1;

select count(*), sum(change), max(note) from entry;

