#!/usr/bin/env python3
"""Write the Parquet files of others that the tests read, into testdata/parquet. Made with pyarrow 26.0.1 and DuckDB 1.5.6.

Each FILE.parquet has a FILE.json beside it: the rows and their content hash as check_delta.py (its path is the argument)
defines it, and the Arrow types that a reader that honours ARROW:schema returns.
"""
import decimal, importlib.util, json, os, sys

import duckdb, pyarrow as pa, pyarrow.parquet as pq

spec = importlib.util.spec_from_file_location("check_delta", sys.argv[1])
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parquet")
os.makedirs(here, exist_ok=True)


def note(name):
    t = pq.read_table(os.path.join(here, name + ".parquet"))
    plain = [c.cast(pa.list_(c.type.value_type)) if pa.types.is_fixed_size_list(c.type) else c for c in t.columns]
    h = check.hash_arrow(pa.table(plain, t.column_names))
    with open(os.path.join(here, name + ".json"), "w") as f:
        json.dump(dict(rows=h.n, hash=h.hex(), types=[str(x.type) for x in t.schema]), f)
        f.write("\n")


def write(name, table, **how):
    pq.write_table(table, os.path.join(here, name + ".parquet"), **how)
    note(name)


# Categories, whose dictionaries differ from row group to row group.
words = ["w%d" % (i // 3) for i in range(100)]
write("dictionary", pa.table({
    "id": pa.array(range(100), pa.int32()),
    "cat": pa.array([None if i % 7 == 0 else w for i, w in enumerate(words)]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "big": pa.array(words, pa.large_string()).dictionary_encode().cast(pa.dictionary(pa.uint32(), pa.large_string())),
    "number": pa.array([i % 5 for i in range(100)], pa.int64()).dictionary_encode(),
}), row_group_size=30)
# What Polars and pandas write.
write("large", pa.table({
    "s": pa.array(["a", None, "ä€"], pa.large_string()), "b": pa.array([b"", None, b"\x00\xff"], pa.large_binary()),
    "l": pa.array([["x"], None, []], pa.large_list(pa.large_string())),
}))
write("nested", pa.table({
    "o": pa.array([{"a": 1, "b": [{"c": "x"}, None]}, None, {"a": None, "b": None}], pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])),
    "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    "f": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2)),
    "ll": pa.array([[[1], []], None, [None, [2, 3]]], pa.list_(pa.list_(pa.int16()))),
}))
write("plain", pa.table({
    "u8": pa.array([0, 255, None], pa.uint8()), "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "ts": pa.array([0, 1, None], pa.timestamp("us", "UTC")), "tz": pa.array([0, 1, None], pa.timestamp("us", "Europe/Berlin")), "ns": pa.array([0, 1000, None], pa.timestamp("ns")),
    "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-0.01")], pa.decimal128(10, 2)), "day": pa.array([0, None, -1], pa.date32()),
    "t": pa.array([True, False, None]), "f": pa.array([0.1, None, -0.0], pa.float32()),
}), compression="snappy", data_page_version="2.0")
write("zero_rows", pa.table({"x": pa.array([], pa.int64()), "s": pa.array([], pa.string())}))
w = pq.ParquetWriter(os.path.join(here, "zero_row_groups.parquet"), pa.schema([("x", pa.int64()), ("l", pa.list_(pa.int8()))]))
w.close()
note("zero_row_groups")
write("empty_row_group", pa.concat_tables([pa.table({"x": pa.array([1, 2], pa.int64())})]))
with pq.ParquetWriter(os.path.join(here, "empty_row_group.parquet"), pa.schema([("x", pa.int64())])) as w:
    for values in ([1, 2], [], [3]):
        w.write_table(pa.table({"x": pa.array(values, pa.int64())}))
note("empty_row_group")
for codec in ("gzip", "lz4", "brotli", "zstd", "none"):
    write("codec_" + codec, pa.table({"x": pa.array(range(1000), pa.int64()), "s": pa.array(["v%d" % (i % 9) for i in range(1000)])}), compression=codec)
write("without_arrow_schema", pa.table({"x": pa.array([1, None]), "ts": pa.array([0, None], pa.timestamp("us"))}), store_schema=False)
duckdb.connect().execute("""copy (select i as id, 'n' || (i %% 10) as name, i %% 3 = 0 as yes, [i, null] as l, {'a': (i %% 256)::utinyint, 'b': 'x'} as o
    from range(300) t(i)) to '%s' (format parquet, row_group_size 100)""" % os.path.join(here, "duckdb.parquet"))
note("duckdb")
