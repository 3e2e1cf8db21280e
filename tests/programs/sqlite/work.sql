-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Inserts, joins, subqueries, triggers, sorting, recursive queries, text search, windows.
create table word(id integer primary key, text, length, weight real);
with recursive n(i, s) as (
  select 1, 42 union all select i + 1, (s * 16807) % 2147483647 from n where i < 200000
)
insert into word select i, 'w' || (s % 9973) || substr('abcdefghijklmnopqrstuvwxyz', s % 20, 5), s % 17, (s % 1000) / 7.0 from n;
create index word_text on word(text);
create index word_length on word(length, weight);
create table pair(a, b, total);
create table log(n, what);
create trigger pair_added after insert on pair when new.total % 10 = 0 begin
  insert into log values (new.total, (select text from word where id = new.a));
end;
insert into pair select w.id, v.id, w.length + v.length from word w join word v on v.text = w.text and v.id > w.id;
select count(*), sum(total) from pair;
select count(*), min(what), max(what) from log;
select length, count(*), round(avg(weight), 4), group_concat(distinct substr(text, 2, 1)) from word group by length order by 3 desc;
select count(*) from word where text like '%bcd%' or text glob 'w9*[g-k]*';
select w.length, max(w.weight), (select count(*) from word v where v.length = w.length and v.weight < 20) from word w where w.id % 5000 = 7 group by w.length;
with recursive
  xaxis(x) as (values(-2.0) union all select x + 0.01 from xaxis where x < 1.2),
  yaxis(y) as (values(-1.0) union all select y + 0.1 from yaxis where y < 1.0),
  m(iter, cx, cy, x, y) as (
    select 0, x, y, 0.0, 0.0 from xaxis, yaxis
    union all
    select iter + 1, cx, cy, x * x - y * y + cx, 2.0 * x * y + cy from m where (x * x + y * y) < 4.0 and iter < 60
  )
select sum(best) from (select max(iter) as best from m group by cx, cy);
select sum(r) from (select rank() over (partition by length order by weight, id) as r from word where id < 100000);
update word set weight = weight + 1 where id in (select a from pair where total > 20);
delete from word where text < 'w3';
select count(*), round(sum(weight), 3) from word;
select sum(json_extract(j, '$.b[1]')) from (select json_object('a', text, 'b', json_array(length, id)) as j from word limit 100000);
select text, weight from word order by weight desc, text limit 5;
