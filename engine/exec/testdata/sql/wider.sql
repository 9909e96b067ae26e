# Windows, QUALIFY, ASOF, lateral joins, nested values, and the shapes of ClickBench.

# -- windows and QUALIFY
SELECT id, row_number() OVER w, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(2) OVER w FROM people WINDOW w AS (ORDER BY team NULLS LAST) ORDER BY id
SELECT id, lag(name, 1, 'none') OVER (ORDER BY id), lead(name) OVER (ORDER BY id), nth_value(name, 2) OVER (ORDER BY id) FROM people ORDER BY id
SELECT team, name, height FROM people QUALIFY row_number() OVER (PARTITION BY team ORDER BY height DESC NULLS LAST) = 1 ORDER BY name
SELECT team, count(*) AS n FROM people GROUP BY team QUALIFY rank() OVER (ORDER BY count(*) DESC) = 1 ORDER BY team
SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), avg(id) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) FROM people ORDER BY id
SELECT o.id, sum(o.amount) OVER (PARTITION BY o.person_id ORDER BY o.at RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM ns.orders AS o ORDER BY o.id
SELECT id, last_value(team IGNORE NULLS) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM people ORDER BY id
SELECT id, count(*) OVER () * 100 + count(team) OVER (PARTITION BY team) FROM people QUALIFY id > 1 ORDER BY id
SELECT l_orderkey, l_linenumber, sum(l_quantity) OVER (PARTITION BY l_orderkey ORDER BY l_linenumber) AS running FROM tpch.lineitem QUALIFY running > 50 ORDER BY ALL LIMIT 20

# -- ASOF and lateral joins
SELECT p.id, o.id AS o FROM people p ASOF JOIN ns.orders o ON p.id >= o.id ORDER BY p.id
SELECT p.id, o.amount FROM people p ASOF LEFT JOIN ns.orders o ON p.id = o.person_id AND p.born <= o.at ORDER BY p.id
SELECT c.c_custkey, o.o_orderkey FROM tpch.customer c ASOF JOIN tpch.orders o ON c.c_custkey = o.o_custkey AND c.c_nationkey <= o.o_orderkey ORDER BY ALL
SELECT p.name, o.n, o.total FROM people p, LATERAL (SELECT count(*) AS n, sum(amount) AS total FROM ns.orders WHERE person_id = p.id) AS o ORDER BY p.name
SELECT p.id, x FROM people p, LATERAL (SELECT unnest([p.id, p.id * 10]) AS x) ORDER BY ALL
SELECT p.id, t.tag FROM people p JOIN ns.orders o ON o.person_id = p.id, unnest(o.tags) AS t(tag) ORDER BY ALL
SELECT (SELECT max(o.amount) FROM ns.orders o WHERE o.person_id = p.id) AS most, (SELECT list(o.id ORDER BY o.id) FROM ns.orders o WHERE o.person_id = p.id) FROM people p ORDER BY p.id
SELECT name FROM people p WHERE NOT EXISTS (SELECT 1 FROM ns.orders o WHERE o.person_id = p.id AND o.amount > (SELECT avg(amount) FROM ns.orders)) ORDER BY name

# -- nested values and lambdas
SELECT robot, list_transform(joints, lambda j: round(j * 2, 1)), list_sum(joints), len(joints), joints[1] FROM ns.events ORDER BY ALL
SELECT robot, pose.x, pose['y'], attrs['a'], map_keys(attrs), cardinality(attrs) FROM ns.events ORDER BY ALL
SELECT struct_pack(id := id, who := {'name': name, 'team': team}) AS s FROM people ORDER BY id
SELECT list({'id': id, 'amount': amount} ORDER BY id) AS l FROM ns.orders
SELECT person_id, list_filter(list(amount ORDER BY id), lambda a: a > 8) FROM ns.orders GROUP BY person_id ORDER BY person_id
SELECT list_reduce(list_transform(range(5), lambda x: x * x), lambda a, b: a + b), list_zip([1, 2], ['a', 'b']), [[x, y] FOR x, y IN [3, 4]]
SELECT tag, count(*) FROM (SELECT unnest(tags) AS tag FROM ns.orders) GROUP BY tag ORDER BY tag
SELECT payload ->> '$.k', json_extract(payload, '$.k')::VARCHAR, payload::JSON -> 'k' FROM ns.events ORDER BY ALL
SELECT map_from_entries(list((name, id) ORDER BY id)) FROM people

# -- recursion and sets
WITH RECURSIVE fib(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM fib WHERE b < 50) SELECT a FROM fib ORDER BY a
WITH RECURSIVE walk AS (SELECT id, 1 AS depth FROM people WHERE id = 1 UNION SELECT p.id, w.depth + 1 FROM people p JOIN walk w ON p.id = w.id + 1) SELECT * FROM walk ORDER BY id
SELECT id FROM people UNION SELECT person_id FROM ns.orders EXCEPT SELECT id FROM other.orders ORDER BY id
SELECT GROUPING(team), team, born IS NULL AS b, count(*) FROM people GROUP BY CUBE (team, born IS NULL) ORDER BY ALL
SELECT team, sum(height) FROM people GROUP BY GROUPING SETS ((team), ()) ORDER BY ALL

# -- one wide table, as in ClickBench
SELECT count(*) FROM tpch.lineitem WHERE l_shipmode <> 'AIR'
SELECT sum(l_linenumber), count(*), avg(l_quantity) FROM tpch.lineitem
SELECT count(DISTINCT l_partkey), count(DISTINCT l_shipmode) FROM tpch.lineitem
SELECT min(l_shipdate), max(l_shipdate) FROM tpch.lineitem
SELECT l_shipmode, count(*) FROM tpch.lineitem WHERE l_linenumber <> 0 GROUP BY l_shipmode ORDER BY count(*) DESC, l_shipmode
SELECT l_returnflag, count(DISTINCT l_suppkey) AS u FROM tpch.lineitem GROUP BY l_returnflag ORDER BY u DESC, l_returnflag LIMIT 10
SELECT l_suppkey, l_shipmode, count(*) FROM tpch.lineitem GROUP BY l_suppkey, l_shipmode ORDER BY count(*) DESC, l_suppkey, l_shipmode LIMIT 10
SELECT l_suppkey, extract(month FROM l_shipdate) AS m, count(*) FROM tpch.lineitem GROUP BY l_suppkey, m ORDER BY count(*) DESC, l_suppkey, m LIMIT 10
SELECT o_comment, min(o_orderpriority), count(*) AS c FROM tpch.orders WHERE o_comment LIKE '%special%' AND o_orderpriority <> '' GROUP BY o_comment ORDER BY c DESC LIMIT 10
SELECT regexp_replace(c_name, '^([A-Za-z]+)#.*$', '\1') AS k, avg(length(c_name)) AS l, count(*) AS c, min(c_name) FROM tpch.customer GROUP BY k HAVING count(*) > 1 ORDER BY l DESC LIMIT 25
SELECT sum(l_linenumber), sum(l_linenumber + 1), sum(l_linenumber + 2), sum(l_linenumber + 88), sum(l_linenumber + 89) FROM tpch.lineitem
SELECT l_partkey, l_partkey - 1, l_partkey - 2, count(*) AS c FROM tpch.lineitem GROUP BY l_partkey, l_partkey - 1, l_partkey - 2 ORDER BY c DESC, l_partkey LIMIT 10
SELECT date_trunc('month', l_shipdate) AS m, count(*) FROM tpch.lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1996-12-31' GROUP BY m ORDER BY m LIMIT 10 OFFSET 3
SELECT CASE WHEN l_discount = 0 THEN 'none' ELSE l_shipmode END AS src, count(*) FROM tpch.lineitem GROUP BY src ORDER BY src
SELECT * FROM tpch.orders WHERE o_comment LIKE '%none%' ORDER BY o_orderdate, o_orderkey LIMIT 10
SELECT o_orderkey FROM tpch.orders WHERE o_orderpriority <> '' ORDER BY o_orderdate, o_orderpriority, o_orderkey LIMIT 10
