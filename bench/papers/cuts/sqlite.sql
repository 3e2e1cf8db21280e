-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Another input than tests/programs/sqlite/work.sql, for profiles: a shop with views, transactions,
-- foreign keys and dates.
pragma foreign_keys = on;
create table customer(id integer primary key, name text not null unique, city text);
create table item(id integer primary key, name text, price integer check (price > 0));
create table orders(id integer primary key, customer references customer, day text);
create table line(orders references orders, item references item, n integer, primary key (orders, item)) without rowid;
create index orders_customer on orders(customer, day);
create view total as
  select o.id, o.customer, o.day, sum(l.n * i.price) as sum
  from orders o join line l on l.orders = o.id join item i on i.id = l.item group by o.id;
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
insert into customer select i, printf('customer %05d', (i * 7919) % 100000), upper(substr('parisromaoslobernwien', 1 + i % 17, 4)) from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into item select i, hex(i * 31337), 1 + (i * i) % 997 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into orders select i, 1 + (i * 104729) % 2000, date('2020-01-01', '+' || (i % 700) || ' days') from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
insert or ignore into line select 1 + (i * 31) % 20000, 1 + (i * 17) % 300, 1 + i % 9 from n;
commit;
analyze;
select c.city, strftime('%Y-%m', t.day) as month, count(*), sum(t.sum) from total t join customer c on c.id = t.customer group by 1, 2 order by 4 desc limit 10;
select name from customer where id not in (select customer from total where sum > 5000) order by name limit 5;
select i.name, (select max(n) from line where item = i.id) from item i where i.price between 100 and 120;
select c.name, o.day, lag(o.day) over (partition by c.id order by o.day) from customer c left join orders o on o.customer = c.id where c.name like '%77%' order by 1, 2 limit 20;
select count(*) from (select customer from orders where day < '2020-06-01' intersect select customer from orders where day > '2021-06-01');
select replace(trim(lower(name)), 'customer', 'c'), length(name), instr(name, '9') from customer where city in ('PARI', 'OSLO') order by random() * 0, 1 limit 5;
begin;
delete from line where orders % 10 = 3;
update item set price = price + 1 where id in (select item from line group by item having count(*) > 100);
savepoint s;
delete from customer where id not in (select customer from orders);
rollback to s;
commit;
create table copy as select * from total;
create unique index copy_id on copy(id desc);
alter table copy add column note default 'none';
select count(distinct note), avg(sum), max(day) from copy;
explain query plan select * from copy where id = 5;
vacuum;
