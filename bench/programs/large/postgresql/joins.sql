-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

create table item (id int primary key, kind int, price numeric(10,2), name text);

create table sale (id int primary key, item int, day date, amount int);

insert into item select i, i % 17, (i * 7919 % 10007) / 100.0,
	'item ' || chr(97 + i % 26) || md5(i::text) from generate_series(1, 4000) i;

insert into sale select i, 1 + i * 7907 % 4000, date '2020-01-01' + i % 366, 1 + i % 9
	from generate_series(1, 30000) i;

create index on sale (item);

analyze;

select kind, count(*), sum(amount * price), min(day), max(day)
	from sale join item on item.id = sale.item group by kind order by kind;

select date_trunc('month', day) m, count(distinct item), avg(amount) from sale
	group by m order by m;

select name, total, rank() over (partition by kind order by total desc)
	from (select i.kind, i.name, sum(s.amount * i.price) total from item i
		join sale s on s.item = i.id group by i.kind, i.name) t
	order by total desc limit 5;

select count(*) from item a
	where id <= 200 and price > (select avg(price) from item b where b.kind = a.kind);

select upper(substr(name, 6, 2)) n, count(*), string_agg(kind::text, ',' order by id)
	from item where name like '%ab%' group by n order by n limit 4;

with recursive chain(id, depth) as (
	select 1, 0 union all select 1 + (id * 31 + 7) % 4000, depth + 1 from chain where depth < 3000)
	select count(distinct id), max(depth) from chain;

select sum(case when name ~ '[0-9]{3}[a-f]{2}' then 1 else 0 end),
	sum(length(replace(name, 'a', 'bcd'))) from item;

select day, sum(amount) over (order by day, id rows 100 preceding) from sale
	order by id desc limit 3;

