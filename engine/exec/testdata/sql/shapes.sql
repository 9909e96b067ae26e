# Statements about statements, and tables turned on their side.

# -- DESCRIBE, SHOW and SUMMARIZE
DESCRIBE people
DESCRIBE ns.orders
DESCRIBE lake.ns.events
SHOW ns.events
DESCRIBE SELECT id, name || '!' AS loud, height * 2 FROM people
DESC SELECT count(*), sum(amount) FROM ns.orders
DESCRIBE WITH c AS (FROM people) SELECT * FROM c JOIN ns.orders USING (id)
SELECT column_name, column_type FROM (DESCRIBE people) WHERE column_type <> 'VARCHAR'
SELECT count(*) FROM (DESCRIBE people) AS d JOIN (DESCRIBE ns.orders) AS o ON d.column_name = o.column_name
SUMMARIZE people
SUMMARIZE ns.orders
SUMMARIZE SELECT id, team FROM people WHERE id > 1
SELECT column_name, "min", "max", count FROM (SUMMARIZE people) ORDER BY column_name
DESCRIBE nothing_at_all
DESCRIBE (SUMMARIZE people)

# -- PIVOT and UNPIVOT
FROM people PIVOT (count(*) FOR team IN ('red', 'blue')) ORDER BY ALL
SELECT * FROM people PIVOT (sum(height) AS h, max(id) AS i FOR team IN ('red', 'blue') GROUP BY born) ORDER BY ALL
SELECT p.red FROM (SELECT team, height FROM people) PIVOT (avg(height) FOR team IN ('red' AS red, 'blue' AS blue)) AS p
PIVOT people ON team IN ('red', 'blue') USING count(*) GROUP BY born ORDER BY ALL
PIVOT (SELECT id % 2 AS odd, team, id FROM people) ON team IN ('red', 'blue') USING sum(id) GROUP BY odd ORDER BY odd
PIVOT (SELECT team, id % 2 AS odd, height FROM people) ON team IN ('red'), odd IN (0, 1) USING max(height)
PIVOT ns.orders ON person_id IN (1, 3) USING sum(amount), count(*) GROUP BY id ORDER BY id
SELECT * FROM (PIVOT people ON team IN ('red') USING first(name ORDER BY id)) ORDER BY ALL
WITH p AS (PIVOT people ON team IN ('red', 'blue') USING count(*) GROUP BY id) SELECT red + blue AS n FROM p ORDER BY id
UNPIVOT people ON id, height INTO NAME k VALUE v
UNPIVOT (SELECT id, height, id * 2 AS twice FROM people) ON COLUMNS(* EXCLUDE (id)) INTO NAME k VALUE v
FROM people UNPIVOT (v FOR k IN (name, team)) ORDER BY ALL
FROM people UNPIVOT INCLUDE NULLS (v FOR k IN (name, team)) ORDER BY ALL
FROM (SELECT id, 1 AS a, 2 AS b, 3 AS c, 4 AS d FROM people) UNPIVOT ((x, y) FOR k IN ((a, b), (c, d))) ORDER BY ALL
SELECT k, count(v) FROM people UNPIVOT (v FOR k IN (name AS 'the name', team AS 'the team')) GROUP BY k ORDER BY k
SELECT u.k, u.v FROM people AS p UNPIVOT (v FOR k IN (name, team)) AS u ORDER BY ALL
FROM people PIVOT (count(*) FOR team IN (SELECT team FROM people)) ORDER BY ALL
