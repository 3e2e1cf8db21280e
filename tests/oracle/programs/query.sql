-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- For the single-stepper: a small database, but most kinds of statements.
create table word(id integer primary key, text, length, weight real);
with recursive n(i, s) as (
  select 1, 42 union all select i + 1, (s * 16807) % 2147483647 from n where i < 120
)
insert into word select i, 'w' || (s % 97) || substr('abcdefghijklmnopqrstuvwxyz', s % 20, 5), s % 17, (s % 1000) / 7.0 from n;
create index word_text on word(text);
create index word_length on word(length, weight);
create table pair(a, b, total);
create table log(n, what);
create trigger pair_added after insert on pair when new.total % 5 = 0 begin
  insert into log values (new.total, (select text from word where id = new.a));
end;
insert into pair select w.id, v.id, w.length + v.length from word w join word v on v.length = w.length and v.id > w.id limit 60;
select count(*), sum(total) from pair;
select count(*), min(what), max(what) from log;
select length, count(*), round(avg(weight), 4), group_concat(distinct substr(text, 2, 1)) from word group by length order by 3 desc;
select count(*) from word where text like '%bcd%' or text glob 'w9*[g-k]*';
select sum(r) from (select rank() over (partition by length order by weight, id) as r from word);
begin;
update word set weight = weight + 1 where id in (select a from pair where total > 20);
savepoint s;
delete from word where text < 'w3';
rollback to s;
commit;
select count(*), round(sum(weight), 3) from word;
select sum(json_extract(j, '$.b[1]')) from (select json_object('a', text, 'b', json_array(length, id)) as j from word limit 30);
create view heavy as select text, weight from word where weight > 50;
explain query plan select * from heavy where text > 'w5' order by weight;
select text, round(weight, 2) from heavy order by weight desc, text limit 5;
select printf('%08.3f %s', 3.14159, hex('abc')), strftime('%Y', '2001-02-03'), abs(-3), coalesce(null, 7), upper('x');
pragma integrity_check;
