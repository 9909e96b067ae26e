"""Cuts flights-sample.parquet from flights-3m.parquet: every 30th row, in order, with its schema.

usage: cut.py flights-3m.parquet flights-sample.parquet
"""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

source, out = sys.argv[1:]
table = pq.read_table(source)
table = table.take(pa.array(range(0, table.num_rows, 30)))
pq.write_table(
    table,
    out,
    compression="zstd",
    compression_level=15,
    row_group_size=50_000,
    use_dictionary=["distance", "origin", "destination"],
    column_encoding={"date": "DELTA_BINARY_PACKED", "delay": "DELTA_BINARY_PACKED"},
)
