"""Ingests tables through the ADBC Flight SQL driver and reads them back, and
through pyarrow's Flight client what the driver has no option for: the same
operation sent twice, and an upload that breaks off.

usage: ingest.py grpc://host:port
       ingest.py grpc://host:port OPERATION TABLE ROWS    one ingest by its id
"""

import sys
import time
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal

import adbc_driver_flightsql.dbapi as flightsql
import pyarrow as pa
import pyarrow.flight as flight

FAIL, CREATE, APPEND = 2, 1, 2  # of if_not_exist, and if_exists


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, b):
    return varint(number << 3 | 2) + varint(len(b)) + b


def command(table, operation, if_not_exist, if_exists):
    """A CommandStatementIngest with an operation id, in an Any."""
    definition = bytes([1 << 3, if_not_exist, 2 << 3, if_exists])
    option = field(1, b"lake.operation_id") + field(2, operation.encode())
    body = field(1, definition) + field(2, table.encode()) + field(1000, option)
    url = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementIngest"
    return field(1, url) + field(2, body)


def put(uri, table, operation, schema, batches, if_not_exist=CREATE, if_exists=APPEND):
    with flight.FlightClient(uri.replace("grpc://", "grpc+tcp://")) as client:
        descriptor = flight.FlightDescriptor.for_command(command(table, operation, if_not_exist, if_exists))
        writer, reader = client.do_put(descriptor, schema)
        for b in batches:
            writer.write_batch(b)
        writer.done_writing()
        answer = reader.read()
        writer.close()  # says why there is no answer
        answer = answer.to_pybytes()  # DoPutUpdateResult: record_count is field 1
        n, shift = 0, 0
        for byte in answer[1:]:
            n |= (byte & 127) << shift
            shift += 7
        return n


def uuid7():
    ms = int(time.time() * 1000)
    b = bytearray(ms.to_bytes(6, "big") + uuid.uuid4().bytes[6:])
    b[6] = 0x70 | b[6] & 15
    return str(uuid.UUID(bytes=bytes(b)))


def numbers(rows, size=10_000):
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    batches = (
        pa.record_batch([pa.array(range(at, min(rows, at + size)), pa.int64()), pa.array([f"n{i}" for i in range(at, min(rows, at + size))])], schema=schema)
        for at in range(0, rows, size)
    )
    return schema, batches


if len(sys.argv) > 2:
    uri, operation, table, rows = sys.argv[1:]
    print(put(uri, table, operation, *numbers(int(rows))))
    sys.exit()

uri = sys.argv[1]


def fetch(cur, sql):
    cur.execute(sql)
    return cur.fetch_arrow_table()


def refused(what, do, *says):
    try:
        do()
    except (flightsql.Error, pa.ArrowException) as e:
        for text in says:
            assert text in str(e), (what, str(e))
    else:
        raise AssertionError(what + " was accepted")


ids = list(range(7))
now = datetime(2026, 1, 2, 3, 4, 5, 678901)
utc = now.replace(tzinfo=timezone.utc)
columns = {
    "id": pa.array(ids, pa.int64()),
    "b": pa.array([True, False, None, True, False, None, True]),
    **{f"i{n}": pa.array([-(2 ** (n - 1)), 2 ** (n - 1) - 1, None, 0, 1, 2, 3], f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": pa.array([0, 2**n - 1, None, 0, 1, 2, 3], f"uint{n}") for n in (8, 16, 32, 64)},
    "f32": pa.array([0.5, float("-inf"), None, -0.0, 1, 2, 3], pa.float32()),
    "f64": pa.array([0.1, float("inf"), None, -0.0, 1, 2, 3], pa.float64()),
    "s": pa.array(["", "ä", None, "x" * 100, "y", "z", "\U0001f697"]),
    "ls": pa.array(["", "ä", None, "x", "y", "z", "w"], pa.large_string()),
    "bin": pa.array([b"", b"\0\xff", None, b"x", b"y", b"z", b"w"]),
    "lbin": pa.array([b"", b"\0\xff", None, b"x", b"y", b"z", b"w"], pa.large_binary()),
    "d": pa.array([date(1970, 1, 1), date(1, 1, 1), None, date(9999, 12, 31)] + 3 * [date(2026, 1, 2)]),
    "dec": pa.array([Decimal("1.50"), Decimal("-99999.99"), None] + 4 * [Decimal("0.01")], pa.decimal128(7, 2)),
    "wide": pa.array([Decimal(10**37), Decimal(-(10**37)), None] + 4 * [Decimal(1)], pa.decimal128(38, 0)),
    "ts": pa.array([now, None] + 5 * [now], pa.timestamp("us")),
    "tz": pa.array([utc, None] + 5 * [utc], pa.timestamp("us", "UTC")),
    "ns": pa.array([1, 2**62, None, -1, 0, 3, 4], pa.timestamp("ns")),
    "l": pa.array([[1, None], [], None, [3], [4], [5], [6]], pa.list_(pa.int32())),
    "ll": pa.array([["a"], [], None, ["c"], ["d"], ["e"], [None]], pa.large_list(pa.string())),
    "fsl": pa.array([[1, 2, 3], None] + 5 * [[4, 5, 6]], pa.list_(pa.float32(), 3)),
    "st": pa.array([{"x": 1, "y": "a"}, None] + 5 * [{"x": None, "y": "b"}], pa.struct([("x", pa.int16()), ("y", pa.string())])),
    "m": pa.array([[("k", 1)], None, []] + 4 * [[("a", None), ("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "dict": pa.array(["a", "b", None, "a", "b", "a", "c"]).dictionary_encode(),
}
table = pa.table(columns)

with flightsql.connect(uri, autocommit=True) as conn, conn.cursor() as cur:

    def ingest(name, data, **options):
        with conn.cursor() as own:  # a cursor keeps the options of its last ingest
            return own.adbc_ingest(name, data, **options)

    # Every type that a table can have, sliced and in pieces, there and back.
    pieces = pa.concat_tables([table.slice(0, 2), table.slice(2, 1), table.slice(3)])
    assert ingest("types", pieces, mode="create") == 7
    got = fetch(cur, "SELECT * FROM types ORDER BY id")
    for name in table.column_names:
        assert got[name].type == table[name].type, (name, got[name].type, table[name].type)
        a, b = (c.cast(pa.int64()) if name == "ns" else c for c in (got[name], table[name]))
        assert a.to_pylist() == b.to_pylist(), (name, a.to_pylist())

    # What would lose a value is refused by its column, and nothing is there.
    for name, array in {
        "took": pa.array([1], pa.duration("ms")),
        "half": pa.array([1.0], pa.float16()),
        "nothing": pa.nulls(1),
        "at": pa.array([1], pa.time64("us")),
    }.items():
        refused(name, lambda: ingest("refused", pa.table({"ok": pa.array([1]), name: array}), mode="create"), name)
    refused("the table of a refused ingest", lambda: fetch(cur, "SELECT * FROM refused"), "refused")

    # Modes.
    small = pa.table({"id": pa.array([1, 2, 3])})
    count = lambda name: fetch(cur, f"SELECT count(*) AS n FROM {name}")["n"].to_pylist()[0]
    refused("append to nothing", lambda: ingest("modes", small, mode="append"), "mode create")
    assert ingest("modes", small, mode="create_append") == 3
    refused("create twice", lambda: ingest("modes", small, mode="create"), "already exists")
    assert ingest("modes", small, mode="append") == 3
    assert ingest("modes", small, mode="create_append", db_schema_name="main", catalog_name="lake") == 3
    assert count("modes") == 9
    assert ingest("Modes", small, mode="create", db_schema_name="Other") == 3
    assert count("other.modes") == 3
    refused("replace", lambda: ingest("modes", small, mode="replace"), "cannot drop")
    refused("a temporary table", lambda: ingest("modes", small, mode="create", temporary=True), "temporary")
    refused("another catalog", lambda: ingest("modes", small, mode="append", catalog_name="hive"), "hive")
    refused("other columns", lambda: ingest("modes", pa.table({"id": ["x"]}), mode="append"), '"id"')
    assert count("modes") == 9

    # No rows: one batch without any, since the driver sends nothing for none.
    empty = pa.RecordBatchReader.from_batches(small.schema, [small.to_batches()[0].slice(0, 0)])
    assert ingest("empty", empty, mode="create") == 0 and count("empty") == 0

    # A source that fails in the middle leaves nothing.
    def broken():
        yield from numbers(100_000)[1]
        raise ValueError("the source is broken")

    refused("a broken source", lambda: ingest("broken", pa.RecordBatchReader.from_batches(numbers(0)[0], broken()), mode="create"))
    refused("the table of a broken source", lambda: fetch(cur, "SELECT * FROM broken"), "broken")

    # A million rows as they come, as one table, and in tiny batches.
    started = time.monotonic()
    assert ingest("million", pa.RecordBatchReader.from_batches(*numbers(1_000_000)), mode="create") == 1_000_000
    streamed = time.monotonic() - started
    assert ingest("million", pa.table({"id": pa.array(range(1_000_000)), "name": ["x"] * 1_000_000}), mode="append") == 1_000_000
    assert ingest("million", pa.RecordBatchReader.from_batches(*numbers(5_000, size=1)), mode="append") == 5_000
    sums = fetch(cur, "SELECT count(*) AS n, sum(id)::BIGINT AS s, count(DISTINCT name) AS names FROM million").to_pylist()[0]
    assert sums == {"n": 2_005_000, "s": 2 * 499_999_500_000 + 12_497_500, "names": 1_000_001}, sums

    # One operation is applied once, and stands for one input.
    op = uuid7()
    for _ in range(3):
        assert put(uri, "once", op, *numbers(1_000)) == 1_000
    assert count("once") == 1_000
    refused("other rows", lambda: put(uri, "once", op, *numbers(1_001)), "used before")
    assert count("once") == 1_000

    # SQL that changes something is told what does.
    for sql in ("CREATE TABLE x (a INT)", "INSERT INTO modes VALUES (1)", "DROP TABLE modes", "DELETE FROM modes"):
        refused(sql, lambda: cur.execute(sql), "lake load")
    assert count("modes") == 9

print(f"1,000,000 rows streamed in {streamed:.2f} s")
print("PASSED")
