# Constructs that the gate must know, beside the common ones.

SELECT count(*) FROM people USING SAMPLE 3 ROWS
SELECT count(*) FROM people USING SAMPLE reservoir(4 ROWS) REPEATABLE (7)
SELECT count(*) <= 5 FROM people TABLESAMPLE bernoulli(50%)
SELECT id, sum(id) FILTER (WHERE id > 1) OVER (ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM people
SELECT id, string_agg(name, ',' ORDER BY name) OVER (PARTITION BY team ORDER BY id) FROM people
SELECT first_value(name ORDER BY height) OVER (PARTITION BY team ORDER BY id), list(DISTINCT team) FILTER (team IS NOT NULL) OVER () IS NULL FROM people
SELECT * FROM people ORDER BY ALL DESC
SELECT id FROM people GROUP BY ALL ORDER BY id LIMIT 3
SELECT count(*) FROM people GROUP BY ()
SELECT id IS NULL, (id > 2) IS TRUE AS t, (id > 2) IS NOT FALSE AS nf, (height > 1) IS UNKNOWN FROM people
SELECT id NOT BETWEEN 2 AND 3, NOT id IN (1, 2), name NOT ILIKE 'a%', name NOT SIMILAR TO 'A.*' FROM people
SELECT COLUMNS(*)::VARCHAR FROM people
SELECT * LIKE '%e%' FROM people
SELECT * NOT LIKE '%e%' FROM people
SELECT people.* EXCLUDE (id) FROM people
SELECT p.* REPLACE (upper(name) AS name) FROM people p
SELECT coalesce(*COLUMNS(['name', 'team'])) AS c FROM people
SELECT struct_pack(*COLUMNS(['id', 'name'])) AS s FROM people
SELECT COLUMNS('(.*)e(.*)') AS '\2_\1' FROM people
SELECT id FROM people UNION ALL BY NAME SELECT id, note FROM other.orders
SELECT id FROM people INTERSECT ALL SELECT id FROM ns.orders
WITH t AS NOT MATERIALIZED (FROM people) SELECT count(*) FROM t
FROM people SELECT DISTINCT team WHERE team IS NOT NULL ORDER BY team
FROM people AS p, ns.orders AS o SELECT p.id, o.id WHERE p.id = o.person_id
SELECT ARRAY[1, 2], ARRAY(SELECT id FROM people ORDER BY id), INTERVAL '1' DAY, INTERVAL (2) HOUR, INTERVAL '1-2' YEAR TO MONTH
SELECT INTERVAL '1 day 2 hours', INTERVAL 1.5 HOUR, INTERVAL (id) DAY FROM people
SELECT {'a': 1}::STRUCT(a BIGINT), MAP {1: 'x'}::MAP(BIGINT, VARCHAR), [1]::BIGINT[], [1, 2]::DOUBLE[2], 'a'::ENUM('a', 'b'), 1::DECIMAL AS d, 1::NUMERIC(5) AS n, 'x'::CHAR(3) AS c, 'x'::TEXT, 1::INT8, '1'::BOOL
SELECT '2020-01-01'::TIMESTAMP_NS, '2020-01-01'::TIMESTAMP_MS, '2020-01-01'::TIMESTAMP_S, '12:00'::TIME, '2020-01-01'::TIMESTAMPTZ, '1 day'::INTERVAL
SELECT p.id, o.id FROM people p LEFT JOIN LATERAL (SELECT * FROM ns.orders WHERE person_id = p.id ORDER BY id LIMIT 1) o ON true
SELECT p.id, o.id FROM people p RIGHT SEMI JOIN ns.orders o ON o.person_id = p.id
SELECT p.id FROM people p ASOF LEFT JOIN ns.orders o ON p.id >= o.person_id
SELECT * FROM people p JOIN ns.orders o USING (id) ORDER BY id
SELECT id FROM people WHERE (id, name) IN (SELECT id, name FROM people WHERE id < 3)
SELECT id FROM people WHERE (id, name) = (1, 'Ada')
SELECT id FROM people WHERE height > ANY (SELECT height FROM people)
SELECT id FROM people WHERE id = SOME (VALUES (1), (2))
SELECT id FROM people ORDER BY name COLLATE NOCASE DESC, id
SELECT id FROM people ORDER BY random() > 2, id
SELECT id, name FROM people LIMIT (SELECT 2)
SELECT id FROM people ORDER BY id OFFSET 2
SELECT id FROM people ORDER BY id FETCH FIRST 2 ROWS ONLY
SELECT a.i, b.j FROM range(3) a(i), range(a.i) b(j)
SELECT * FROM generate_series(TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-03', INTERVAL 1 DAY) AS g(t)
SELECT * FROM repeat('x', 3)
SELECT * FROM json_tree('{"a": {"b": 1}}')
SELECT unnest([{'a': 1, 'b': [2]}], recursive := true)
SELECT unnest([[1, 2], [3]], max_depth := 2)
SELECT * FROM unnest([1, 2], ['a', 'b']) AS u(n, s)
SELECT map_extract(attrs, 'a'), attrs['zz'], element_at(attrs, 'a'), map_entries(attrs) FROM ns.events
SELECT array_agg(robot ORDER BY ts DESC NULLS LAST), arg_min(robot, ts), count(*) FILTER (ok) FROM ns.events
SELECT robot FROM ns.events WHERE list_contains(joints, 2.0) OR joints IS NULL
SELECT row_to_json(people) FROM people ORDER BY id
SELECT to_json(pose), pose::JSON, json_object('r', robot, 'p', pose) FROM ns.events
SELECT json_group_array(id), json_group_object(name, id) FROM people
SELECT from_json('{"a": 1}', '{"a": "INTEGER"}'), json_structure('[1]'), json_keys('{"x": 1}'), json_type('1')
SELECT switch_off FROM (SELECT 1 AS switch_off)
SELECT alias(id), typeof(id), name[1], name[-1:], name[2:3] FROM people
SELECT list_transform([1, 2], lambda x: list_transform([3], lambda y: x + y))
SELECT list_filter([{'k': 1}, {'k': 2}], lambda e: e.k > 1), apply([1], lambda x: x + id) FROM people
SELECT reduce([1, 2, 3], lambda a, x, i: a + x * i, 10)
SELECT sum(id) AS total, total * 2 AS twice FROM people
SELECT id AS i FROM people WHERE i > 2 ORDER BY i
SELECT team AS t, count(*) AS n FROM people GROUP BY t HAVING n > 1 ORDER BY t
SELECT id, CASE team WHEN 'red' THEN 1 WHEN 'blue' THEN 2 END, IF(id > 1, 'x', NULL), NULLIF(id, 1), iff FROM (SELECT *, 3 AS iff FROM people)
SELECT id % 2 AS even, sum(height) FROM people GROUP BY even ORDER BY even
SELECT approx_quantile(id, 0.5), quantile_disc(id, [0.25, 0.75]), round(kurtosis(height), 9), entropy(team), mad(id), round(corr(id, height), 9), round(regr_slope(height, id), 9) FROM people
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id), mode() WITHIN GROUP (ORDER BY team), listagg(name, ';') WITHIN GROUP (ORDER BY id) FROM people
SELECT max(id, 2), min_by(name, id), max_by(name, id, 2), arg_max(name, id, 2), count(DISTINCT (team, born)) FROM people
SELECT regexp_split_to_table('a b', ' '), string_split_regex('a1b', '[0-9]'), 'abc' ^@ 'a', '%' LIKE '\%' ESCAPE '\', 'ab' << 1 FROM people
SELECT 1 <=> 1, 5 @> 1
SELECT [1, 2] @> [1], [1] <@ [1, 2], [1, 2] && [2], [1] || [2], {'a': 1} = {'a': 1}, [1] < [2]
SELECT @(-5), +5, 2 ** 3 ** 2, -2 ^ 2, NOT NOT true, 1 + + 1, 5 // 2, 5.5 % 2
SELECT $$it's$$, 'a' 'b', X'AB', 'x'::BLOB, B'101'::VARCHAR
SELECT EXTRACT(dow FROM DATE '2020-01-01'), EXTRACT('week' FROM DATE '2020-01-01'), DATE '2020-01-01' + 1, DATE '2020-03-01' - DATE '2020-01-01', TIMESTAMP '2020-01-02' - TIMESTAMP '2020-01-01', (DATE '2020-01-01', DATE '2020-02-01') OVERLAPS (DATE '2020-01-15', DATE '2020-03-01')
SELECT localtime IS NOT NULL, localtimestamp IS NOT NULL, current_time IS NOT NULL, transaction_timestamp() = now(), get_current_timestamp() = now()
SELECT 'Infinity'::DOUBLE, '-inf'::FLOAT, 'nan'::DOUBLE, 'infinity'::DATE, 'epoch'::TIMESTAMP, isnan('nan'::DOUBLE)
SELECT 9223372036854775807, -9223372036854775808, 18446744073709551615, 9223372036854775808, 0.1 + 0.2, 1.0 / 3, 1 / 3
SELECT 99999999999999999999.5, 0.00000000000000000001, 1.5e5, 100000000000000000000000000000.0, 1e22, 12345.678e-2, 5e-324, 1.7976931348623157e308
SELECT
SELECT FROM people
TABLE people
FROM people WHERE id = 1 SELECT name
SELECT main.id FROM (SELECT 1 AS id) AS main
SELECT t.people.id FROM people AS t
SELECT x.a.b, x.a FROM (SELECT {'b': 1} AS a) AS x
SELECT ns.x FROM (SELECT {'x': 1} AS ns)
SELECT orders.orders FROM (SELECT 5 AS orders) AS orders
SELECT ns.orders.tags[1] AS first, orders.tags[1], tags[1] FROM ns.orders
SELECT count(ns.orders.*), count(*) FROM ns.orders
