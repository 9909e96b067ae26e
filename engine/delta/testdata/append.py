#!/usr/bin/env python3
"""Append rows to a Delta table with delta-rs, as another team's job would.  append.py TABLE JSON_ROWS"""
import json, sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

table = DeltaTable(sys.argv[1])
write_deltalake(table, pa.Table.from_pylist(json.loads(sys.argv[2]), schema=pa.schema(table.schema().to_arrow())), mode="append")
print(json.dumps(dict(version=table.version())))
