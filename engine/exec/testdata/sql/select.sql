# One statement a line. Each runs on lake and on the plain engine over the same
# files; schemas and rows must be the same, or both must fail. Rows are compared
# in order if the statement ends in ORDER BY, or in the words -- ordered. The tables are in differential_test.go.

# -- literals and operators
SELECT 1
SELECT 1 AS a, 'it''s' AS b, NULL AS c, true, 1.50, 1e10, -5, 12345678901234567890, 170141183460469231731687303715884105727::DOUBLE
SELECT DATE '2020-02-29', TIMESTAMP '2020-01-01 12:00:00.123456', TIMESTAMPTZ '2020-01-01 12:00:00+02', TIME '12:34:56', INTERVAL 3 DAY, INTERVAL '1 year 2 months'
SELECT '\xAA\x00'::BLOB, 'a'::VARCHAR, '550e8400-e29b-41d4-a716-446655440000'::UUID, 5::UTINYINT, 5::UBIGINT, 1.5::FLOAT, 3::DECIMAL(38,3)
SELECT 7 / 2, 7 // 2, 7 % 2, 2 ** 10, 2 ^ 3, 5 & 3, 5 | 3, ~5, 1 << 4, 256 >> 2, -(-3), 'a' || 'b', 5!
SELECT 1 = 1, 1 <> 2, 1 != 2, 1 < 2, 1 <= 2, 1 > 2, 1 >= 2, 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL, NOT true, true AND NULL, true OR NULL
SELECT 3 BETWEEN 1 AND 5, 3 NOT BETWEEN 1 AND 5, 3 IN (1, 2, 3), 3 NOT IN (1, 2), NULL IS NULL, 1 IS NOT NULL, 'abc' LIKE 'a%', 'abc' NOT LIKE 'b%', 'ABC' ILIKE 'a_c', 'abc' SIMILAR TO 'a.c', 'abc' ~ 'b', 'a%c' LIKE 'a!%c' ESCAPE '!', 'abc' GLOB 'a*'
SELECT CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END, CASE 3 WHEN 1 THEN 'x' WHEN 3 THEN 'y' END, COALESCE(NULL, 2), NULLIF(1, 1), IFNULL(NULL, 3), IF(true, 1, 2), greatest(1, 3, 2), least(3, 1)
SELECT CAST('5' AS INTEGER), TRY_CAST('x' AS INTEGER), '5'::BIGINT + 1, TRY(1 / 0), 'x' COLLATE NOCASE = 'X'
SELECT E'tab\there', 'ünïcödé 日本', U&'\0041', $$dollar 'quoted'$$, 'multi' ' part'
SELECT 1e3 * id, 0.1e0 + 0.2e0, 123456789012345678e0 AS big, 1e-300, -1.5e3, height * 1.5e0 FROM people
SELECT 0x1F, 1_000_000, .5, 5. AS five, 1e-3, 'x' AS "Quoted ""Name""", 2 AS "select"
SELECT CURRENT_DATE = today(), now() > TIMESTAMP '2020-01-01', current_timestamp IS NOT NULL, extract(year FROM DATE '2020-05-05'), date_part('month', DATE '2020-05-05'), EXTRACT(EPOCH FROM TIMESTAMP '1970-01-02')
SELECT 'abc'[2], 'abc'[1:2], 'hello'.upper(), 'a,b'.split(','), ('x' || 'y').length()
SELECT substring('hello' FROM 2 FOR 3), trim(BOTH 'x' FROM 'xax'), position('l' IN 'hello'), overlay('abc' PLACING 'X' FROM 2), TIMESTAMP '2020-01-01' AT TIME ZONE 'Europe/Paris'
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, s) ORDER BY n DESC

# -- nested values
SELECT [1, 2, 3], [], ['a', NULL], {'a': 1, 'b': 'x'}, MAP {'k': 1, 'l': 2}, ROW(1, 'a'), [[1], [2, 3]], {'a': {'b': [1]}}
SELECT [1, 2, 3][1], [1, 2, 3][-1], [1, 2, 3][2:], {'a': 1}.a, {'a': 1}['a'], MAP {'k': 1}['k'], struct_extract({'a': 5}, 'a'), array_value(1.0::FLOAT, 2.0::FLOAT)
SELECT list_transform([1, 2, 3], lambda x: x + 1), list_filter([1, 2, 3], lambda x: x > 1), list_reduce([1, 2, 3], lambda a, b: a + b), list_transform([5, 6], lambda x, i: x * i)
SELECT [x + 1 FOR x IN [1, 2, 3]], [x FOR x IN [1, 2, 3] IF x > 1], [y * 2 FOR y IN [1, 2] IF y = 2]
SELECT list_transform([1, 2], x -> x * 2), list_filter(['a', 'b'], s -> s = 'a')
SELECT unnest([1, 2, 3]) AS u, generate_series(1, 3) AS g
SELECT unnest({'a': 1, 'b': 2})
SELECT list_sort([3, 1, 2]), list_distinct([1, 1, 2]).list_sort(), list_aggregate([1, 2, 3], 'sum'), list_contains([1, 2], 2), flatten([[1], [2]]), list_zip([1, 2], ['a', 'b']), range(3)
SELECT '{"a": [1, 2]}'::JSON -> 'a', '{"a": [1, 2]}'::JSON ->> '$.a[1]', json_extract('{"a": 1}', '$.a'), to_json({'x': 1}), json_array(1, 'a'), json_object('k', 1)

# -- one table
SELECT * FROM people
FROM people
FROM people SELECT name
SELECT people.* FROM people
SELECT p.* FROM people p
SELECT main.people.name FROM main.people
SELECT lake.main.people.name, people.id FROM lake.main.people
SELECT ns.orders.amount, orders.id FROM ns.orders WHERE lake.ns.orders.id > 2
SELECT * EXCLUDE (name) FROM people
SELECT * EXCLUDE (name, team) REPLACE (id * 2 AS id) FROM people
SELECT * RENAME (name AS who) FROM people
SELECT * EXCLUDE (people.name) FROM people
SELECT * EXCLUDE (ns.orders.tags) FROM ns.orders
SELECT COLUMNS('^(id|name)$') FROM people
SELECT COLUMNS(* EXCLUDE (born)) FROM people
SELECT min(COLUMNS(['id', 'height'])) FROM people
SELECT COLUMNS(lambda c: c LIKE '%e%') FROM people
SELECT name AS n, n || '!' AS m FROM people
SELECT id, id, id AS id FROM people
SELECT count(*), count(team), count(DISTINCT team), sum(id), avg(height), min(name), max(born) FROM people
SELECT team, count(*) AS n FROM people GROUP BY team
SELECT team, count(*) AS n FROM people GROUP BY ALL ORDER BY ALL
SELECT team, count(*) FROM people GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 NULLS FIRST
SELECT team, born, count(*) FROM people GROUP BY ROLLUP (team, born)
SELECT team, born, count(*), GROUPING(team, born) FROM people GROUP BY CUBE (team, born)
SELECT team, count(*) FROM people GROUP BY GROUPING SETS ((team), ())
SELECT team, sum(height) FILTER (WHERE id > 2), string_agg(name, ',' ORDER BY name DESC), list(id ORDER BY id) FROM people GROUP BY team
SELECT DISTINCT team FROM people
SELECT DISTINCT ON (team) team, name FROM people ORDER BY team, name
SELECT * FROM people WHERE team IS NULL OR height > 1.7
SELECT * FROM people ORDER BY height DESC NULLS LAST, id LIMIT 2 OFFSET 1
SELECT * FROM people ORDER BY 2, 1
SELECT id FROM people ORDER BY id LIMIT 40 PERCENT
SELECT name FROM people ORDER BY (SELECT max(id) FROM ns.orders WHERE person_id = people.id) NULLS FIRST, name
SELECT count(*) FROM people TABLESAMPLE 100 PERCENT
SELECT * FROM people AS p(a, b, c) ORDER BY a
SELECT people FROM people
SELECT p FROM people AS p ORDER BY p.id
SELECT #1, #2 FROM people
SELECT arg_max(name, height), median(height), mode(team), quantile_cont(id, 0.5), approx_count_distinct(name), bool_and(id > 0), bit_or(id), stddev_pop(id), first(name ORDER BY id) FROM people
SELECT histogram(team), map_keys(histogram(team)).list_sort() FROM people
SELECT * FROM people WHERE name COLLATE NOCASE = 'ADA'

# -- windows
SELECT id, row_number() OVER (ORDER BY id), rank() OVER (ORDER BY team), lag(name) OVER (ORDER BY id), lead(name, 1, 'none') OVER (ORDER BY id), ntile(2) OVER (ORDER BY id) FROM people
SELECT id, sum(height) OVER (PARTITION BY team ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), first_value(id) OVER w, nth_value(id, 2) OVER w FROM people WINDOW w AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
SELECT id, count(*) OVER (ORDER BY born RANGE BETWEEN INTERVAL 10 YEAR PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW), last_value(team IGNORE NULLS) OVER (ORDER BY id) FROM people
SELECT name FROM people QUALIFY row_number() OVER (PARTITION BY team ORDER BY id) = 1
SELECT id, dense_rank() OVER (ORDER BY team), percent_rank() OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM people

# -- joins
SELECT p.name, o.amount FROM people p JOIN ns.orders o ON o.person_id = p.id ORDER BY o.id
SELECT people.name, orders.amount FROM people LEFT JOIN ns.orders ON orders.person_id = people.id
SELECT * FROM ns.orders JOIN other.orders USING (id)
SELECT ns.orders.id, other.orders.note FROM ns.orders JOIN other.orders ON ns.orders.id = other.orders.id
SELECT * FROM ns.orders NATURAL JOIN other.orders
SELECT ns.orders.id, p.name FROM ns.orders JOIN other.orders ON other.orders.id = ns.orders.id JOIN people p ON p.id = ns.orders.person_id ORDER BY ns.orders.id
SELECT (SELECT max(ns.orders.amount) FROM ns.orders WHERE ns.orders.id = other.orders.id) AS m FROM other.orders
SELECT count(*) FROM ns.orders, other.orders
SELECT (SELECT max(main.people.height) FROM ns.orders AS people WHERE people.person_id = main.people.id) AS m FROM main.people
SELECT (SELECT count(*) FROM other.orders WHERE orders.id > 2) AS n, orders.id + 1 FROM ns.orders WHERE orders.id < 3
SELECT orders.*, ns.orders.id FROM ns.orders WHERE EXISTS (SELECT orders.* FROM other.orders)
SELECT * EXCLUDE (orders.tags) FROM ns.orders WHERE id IN (SELECT id FROM other.orders)
WITH people AS (SELECT * FROM people WHERE people.id > 2) SELECT people.name FROM people ORDER BY people.id
WITH people AS (SELECT 1 AS id) SELECT (SELECT count(*) FROM main.people WHERE main.people.id > people.id) AS n FROM people
SELECT * FROM people p FULL OUTER JOIN ns.orders o ON p.id = o.person_id AND o.amount > 10
SELECT name FROM people RIGHT JOIN ns.orders ON people.id = person_id
SELECT * FROM people SEMI JOIN ns.orders ON person_id = people.id
SELECT * FROM people ANTI JOIN ns.orders ON person_id = people.id
SELECT p.id, q.id FROM people p CROSS JOIN people q
SELECT p.id, q.id FROM people p, people q WHERE p.id < q.id
SELECT * FROM people p POSITIONAL JOIN ns.orders o
SELECT p.name, o.at FROM people p ASOF JOIN ns.orders o ON p.id >= o.person_id
SELECT p.name, x.n FROM people p, LATERAL (SELECT count(*) AS n FROM ns.orders o WHERE o.person_id = p.id) AS x
SELECT p.name, t.tag FROM ns.orders o JOIN people p ON p.id = o.person_id, unnest(o.tags) AS t(tag)
SELECT a.id, b.id, c.note FROM ns.orders a JOIN ns.orders b ON a.id = b.id + 1 JOIN other.orders c ON c.id = a.id
SELECT i, name FROM range(3) AS r(i) JOIN people ON people.id = r.i
SELECT * FROM (people JOIN ns.orders ON people.id = person_id) WHERE amount > 5

# -- subqueries and CTEs
SELECT name FROM people WHERE id IN (SELECT person_id FROM ns.orders)
SELECT name FROM people p WHERE EXISTS (SELECT 1 FROM ns.orders o WHERE o.person_id = p.id AND o.amount > 10)
SELECT name, (SELECT sum(amount) FROM ns.orders WHERE person_id = people.id) AS total FROM people
SELECT * FROM people WHERE height > ALL (SELECT 1.0) AND id = ANY (SELECT person_id FROM ns.orders)
SELECT s.n FROM (SELECT name AS n FROM people) AS s WHERE s.n LIKE 'A%'
WITH big AS (SELECT * FROM ns.orders WHERE amount > 10) SELECT count(*) FROM big
WITH people AS (SELECT id FROM main.people WHERE id > 2) SELECT * FROM people
WITH a AS (SELECT 1 AS x), b AS MATERIALIZED (SELECT x + 1 AS x FROM a) SELECT * FROM a UNION ALL SELECT * FROM b
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r
WITH RECURSIVE chain AS (SELECT id, name FROM people WHERE id = 1 UNION SELECT p.id, p.name FROM people p JOIN chain c ON p.id = c.id + 1) SELECT * FROM chain
WITH t(a, b) AS (SELECT id, name FROM people) SELECT b, a FROM t
SELECT (WITH c AS (SELECT 7 AS v) SELECT v FROM c)
WITH orders AS (SELECT 1 AS id) SELECT ns.orders.person_id FROM orders, ns.orders
SELECT * FROM people UNION ALL SELECT * FROM people
SELECT id FROM people UNION SELECT person_id FROM ns.orders ORDER BY 1
SELECT id FROM people INTERSECT SELECT person_id FROM ns.orders
SELECT id FROM people EXCEPT ALL SELECT person_id FROM ns.orders
SELECT id, name FROM people UNION BY NAME SELECT note, id FROM other.orders
(SELECT 1 AS a UNION ALL SELECT 2) ORDER BY a DESC LIMIT 1
SELECT * FROM (SELECT id FROM people UNION ALL SELECT id FROM ns.orders) AS u ORDER BY id

# -- nested columns
SELECT * FROM ns.events
SELECT pose.x, events.pose.y, ns.events.pose.x, attrs['a'], joints[1], joints[2:3], len(joints) FROM ns.events
SELECT pose.* FROM ns.events
SELECT e.pose.x FROM ns.events e
SELECT unnest(joints) AS j, robot FROM ns.events
SELECT list_transform(joints, lambda j: j + pose.x) FROM ns.events
SELECT [j * 2 FOR j IN joints] FROM ns.events
SELECT payload -> 'k', payload ->> '$.k', json_extract_string(payload, '$.k') FROM ns.events WHERE payload ->> 'k' = '1'
SELECT ts, date_trunc('hour', ts), ts + INTERVAL 1 DAY, strftime(ts, '%Y'), epoch_ms(ts), ts::DATE FROM ns.events
SELECT robot, time_bucket(INTERVAL '1 hour', ts) AS b, avg(pose.x) FROM ns.events GROUP BY ALL
SELECT map_keys(attrs), map_values(attrs), cardinality(attrs), attrs.a FROM ns.events
SELECT robot, len(raw), hex(raw), md5(raw), ok, small + f FROM ns.events
SELECT {'r': robot, 'p': pose} AS s, [small, NULL] AS l FROM ns.events
SELECT * FROM ns.nothing
SELECT count(*), sum(a), max(b) FROM ns.nothing
SELECT * FROM people JOIN ns.nothing ON a = id
SELECT a, b FROM ns.nothing UNION ALL SELECT id, name FROM people

# -- functions
SELECT regexp_extract('a1b2', '[0-9]'), regexp_replace('abc', 'b', 'x'), regexp_matches('abc', '^a'), string_split('a b', ' '), format('{} {}', 1, 'a'), printf('%05d', 42), lpad('a', 3, 'x'), concat_ws('-', 1, 2), reverse('abc'), levenshtein('a', 'b'), hash(1) = hash(1)
SELECT round(1.55, 1), floor(1.5), ceil(1.5), abs(-2), sqrt(4), ln(1), sin(0), pi(), mod(7, 3), gcd(12, 8), even(3), sign(-2), trunc(2.7), power(2, 3), bit_count(7)
SELECT date_diff('day', DATE '2020-01-01', DATE '2020-03-01'), date_add(DATE '2020-01-31', INTERVAL 1 MONTH), last_day(DATE '2020-02-01'), make_date(2020, 1, 2), strptime('2020-01-02', '%Y-%m-%d'), age(TIMESTAMP '2020-02-01', TIMESTAMP '2020-01-01'), dayname(DATE '2020-01-01'), to_timestamp(0)
SELECT typeof(1), typeof(1.5), typeof('x'), typeof([1]), typeof({'a': 1}), typeof(NULL), typeof(sum(1))
SELECT i FROM range(5) AS t(i) WHERE i % 2 = 0
SELECT * FROM generate_series(1, 3)
SELECT * FROM unnest([10, 20]) WITH ORDINALITY AS u(v, n)
SELECT * FROM json_each('{"a": 1, "b": 2}')
SELECT sum(i) AS s, sum(i::DOUBLE), sum(i::DECIMAL(10,2)), avg(i), product(i + 1), count_if(i > 2) FROM range(5) t(i)

# -- errors
SELECT nothere FROM people
SELECT p.nothere FROM people p
SELECT people.id FROM people AS p
SELECT ns.orders.id FROM ns.orders AS o
SELECT id FROM ns.orders, other.orders
SELECT orders.id FROM ns.orders JOIN other.orders ON true
SELECT count(*) FROM people, people
SELECT name::INTEGER FROM people
SELECT sum(name) FROM people
SELECT name, count(*) FROM people
SELECT * FROM people p JOIN people p ON true
SELECT [1, 2] + 'a'
SELECT error('on purpose')
SELECT 9223372036854775807 + 1
SELECT substr(5)
SELECT (SELECT id FROM people)
SELECT 'x'::nosuchtype
