"""Reads a table through the ADBC Flight SQL driver and compares it with the
Parquet file that was loaded into it, as pyarrow and DuckDB read that.

usage: adbc.py grpc://host:port FILE.parquet TABLE
"""

import sys

import adbc_driver_flightsql.dbapi as flightsql
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

uri, file, table = sys.argv[1:]
want = pq.read_table(file)


def fetch(cur, sql):
    cur.execute(sql)
    return cur.fetch_arrow_table()


with flightsql.connect(uri, autocommit=True) as conn, conn.cursor() as cur:
    got = fetch(cur, f"SELECT * FROM {table}")
    assert got.schema.types == want.schema.types, (got.schema, want.schema)
    assert got.column_names == want.column_names, got.column_names
    # Rows are a set: an engine with two threads may hand them out as it likes.
    order = [(c, "ascending") for c in want.column_names]
    assert got.sort_by(order).equals(want.sort_by(order)), "rows differ"

    for sql in (
        "SELECT origin, count(*) AS n, sum(distance)::BIGINT AS far FROM {} GROUP BY origin ORDER BY origin",
        "SELECT date_trunc('day', date) AS day, max(delay) AS worst FROM {} GROUP BY day ORDER BY day",
        "SELECT a.origin, b.destination FROM {} a JOIN {} b ON a.origin = b.destination ORDER BY ALL LIMIT 100",
    ):
        a = fetch(cur, sql.format(table, table))
        b = duckdb.sql(sql.format(f"'{file}'", f"'{file}'")).to_arrow_table()
        for name in a.column_names:
            x, y = a[name], b[name]
            if pa.types.is_large_string(x.type) or pa.types.is_large_string(y.type):
                x, y = x.cast(pa.string()), y.cast(pa.string())
            assert x.to_pylist() == y.to_pylist(), (sql, name)

    empty = fetch(cur, f"SELECT * FROM {table} WHERE false")
    assert empty.num_rows == 0 and empty.schema.types == want.schema.types, empty.schema

    # A statement that fails leaves the connection usable.
    for bad in (f"SELECT nope FROM {table}", f"INSERT INTO {table} SELECT * FROM {table}", "COPY (SELECT 1) TO '/tmp/x'"):
        try:
            fetch(cur, bad)
        except flightsql.Error as e:
            assert "/run/" not in str(e) and "/in/" not in str(e), e
        else:
            raise AssertionError(bad + " was accepted")
    assert fetch(cur, f"SELECT count(*) AS n FROM {table}")["n"].to_pylist() == [want.num_rows]

    # A reader that leaves early costs nothing.
    for _ in range(5):
        with conn.cursor() as other:
            other.execute(f"SELECT * FROM {table}")
            next(iter(other.fetch_record_batch()))
    assert fetch(cur, "SELECT 1 AS one")["one"].to_pylist() == [1]

print("PASSED")
