#!/usr/bin/env python3
"""Read Parquet files with pyarrow and with DuckDB and print what each sees, as one line of JSON for each file.

  read_files.py CHECK_DELTA.PY FILE...

Rows are hashed as check_delta.py defines it. ids are the field ids, depth first, that pyarrow sees.
"""
import importlib.util, json, sys

import duckdb, pyarrow as pa, pyarrow.parquet as pq

spec = importlib.util.spec_from_file_location("check_delta", sys.argv[1])
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)


def ids(field):
    out = [int((field.metadata or {}).get(b"PARQUET:field_id", b"-1"))]
    t = field.type
    if pa.types.is_struct(t):
        below = [t.field(i) for i in range(t.num_fields)]
    elif pa.types.is_map(t):
        below = [t.key_field, t.item_field]
    elif pa.types.is_list(t):
        below = [t.value_field]
    else:
        below = []
    for f in below:
        out += ids(f)
    return out


con = duckdb.connect()
con.execute("set timezone='UTC'")
for path in sys.argv[2:]:
    table = pq.read_table(path)
    arrow = check.hash_arrow(table)
    duck = check.hash_arrow(con.execute("select * from read_parquet(?)", [path]).to_arrow_table())
    md = pq.ParquetFile(path).metadata
    print(json.dumps(dict(rows=arrow.n, pyarrow=arrow.hex(), duckdb=duck.hex(), duckdb_rows=duck.n, created_by=md.created_by,
                          groups=md.num_row_groups, ids=[i for f in table.schema for i in ids(f)])), flush=True)
