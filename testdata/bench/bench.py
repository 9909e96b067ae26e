#!/usr/bin/env python3
"""Compares lake with DuckDB on the same machine, files and threads, in one run, taking turns.

read: SELECT of every column of a table through ADBC, from a running `lake dev`, against DuckDB in
      this process streaming Arrow from the table's own data files.
load: `lake load` of a Parquet file, against DuckDB's COPY of it to a file, ZSTD too.

A ratio is DuckDB's median time divided by lake's. The exit code is 1 if one is below its bar.

usage: bench.py [--rows N] [--rounds N] [--threads N] [--only read|load]
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import adbc_driver_flightsql.dbapi as flightsql
import duckdb

REPO = pathlib.Path(__file__).resolve().parents[2]
LAKE = REPO / "bin" / "lake"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lake"
BARS = {"read": 0.6, "load": 0.2}
START_SECONDS = 30
BATCH_ROWS = 16384  # the fastest for DuckDB of 16 K, 120 K and its default of 1 M, and what lake sends
COLUMNS = """
    range AS id,
    TIMESTAMP '2026-01-01' + to_microseconds(range * 1000) AS stamp,
    (hash(range) % 1000000)::INTEGER AS step,
    (hash(range + 1) % 1000000007) / 1e6 AS force,
    ((hash(range + 2) % 1000003) / 1e3)::FLOAT AS angle,
    hash(range + 3) % 2 = 0 AS gripped,
    'robot-' || (hash(range + 4) % 20) AS robot,
    CASE WHEN hash(range + 5) % 10 > 0 THEN md5(range::VARCHAR) END AS episode
"""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=min(os.cpu_count(), 8))
    p.add_argument("--only", choices=BARS)
    a = p.parse_args()

    source = generate(a.rows)
    work = pathlib.Path(tempfile.mkdtemp(prefix="lake-bench-"))
    con = duckdb.connect(config={"threads": a.threads})
    missed = []
    print(f"{machine()}; duckdb {duckdb.__version__}, {a.threads} threads; {a.rows} rows, {source.stat().st_size / 1e6:.0f} MB")
    try:
        with Lake(work / "lake", a.threads) as lake:
            for name, measure in {"load": load, "read": read}.items():
                if a.only not in (None, name):
                    continue
                times = measure(lake, con, source, work, a.rows, a.rounds)
                missed += report(name, a.rows, times)
    finally:
        shutil.rmtree(work)
    if missed:
        sys.exit("below its bar: " + ", ".join(missed))


def generate(rows):
    """The input: eight columns, the same bytes for the same number of rows."""
    file = CACHE / f"bench-{rows}-v1.parquet"
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({rows})) TO '{part}' (FORMAT parquet, COMPRESSION zstd)")
        part.rename(file)
    return file


class Lake:
    """A `lake dev` of its own."""

    def __init__(self, directory, threads):
        self.dir = directory
        self.args = [LAKE, "dev", "--dir", directory, "--flight", "127.0.0.1:0", "--query-threads", str(threads), "--log-level", "warn"]

    def __enter__(self):
        self.process = subprocess.Popen(self.args)
        ready = self.dir / "run" / "ready.json"
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                sys.exit("lake dev did not start")
            time.sleep(0.02)
        self.uri = json.loads(ready.read_text())["flight"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def run(self, *args):
        return subprocess.run([LAKE, *args, "--dir", self.dir], check=True, capture_output=True, text=True).stdout

    def files(self, table):
        location = next(t["location"] for t in json.loads(self.run("table", "ls", "--json")) if t["name"] == table)
        return sorted(str(f) for f in (self.dir / location).rglob("*.parquet"))


def load(lake, con, source, work, rows, rounds):
    out = work / "copy.parquet"

    def ours(i):
        lake.run("load", source, "--table", f"bench.load_{i}", "--create")

    def theirs(_):
        con.execute(f"COPY (FROM read_parquet('{source}')) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")

    return alternate({"lake": ours, "duckdb": theirs}, rounds)


def read(lake, con, source, work, rows, rounds):
    lake.run("load", source, "--table", "bench.rows", "--create")
    files = lake.files("bench.rows")
    columns = ", ".join(c[0] for c in con.sql(f"DESCRIBE FROM read_parquet({files})").fetchall())

    def count(reader):
        n = sum(batch.num_rows for batch in reader)
        if n != rows:
            sys.exit(f"{n} rows, want {rows}")

    def theirs(_):
        count(con.execute(f"SELECT {columns} FROM read_parquet({files})").to_arrow_reader(BATCH_ROWS))

    with flightsql.connect(lake.uri, autocommit=True) as adbc:

        def ours(_):
            with adbc.cursor() as cursor:
                cursor.execute(f"SELECT {columns} FROM bench.rows")
                count(cursor.fetch_record_batch())

        totals = "SELECT sum(id), sum(step), sum(angle::DOUBLE), count(episode) FROM "
        with adbc.cursor() as cursor:
            cursor.execute(totals + "bench.rows")
            got = [round(float(v)) for v in cursor.fetchone()]
        want = [round(float(v)) for v in con.sql(totals + f"read_parquet('{source}')").fetchone()]
        if got != want:
            sys.exit(f"the table holds other rows than the file: {got}, want {want}")
        return alternate({"lake": ours, "duckdb": theirs}, rounds)


def alternate(sides, rounds):
    """Seconds of each side in each round. One round before them warms the page cache."""
    times = {name: [] for name in sides}
    for i in range(rounds + 1):
        order = list(sides.items())
        for name, side in order if i % 2 else reversed(order):
            os.sync()  # nobody waits for what the other wrote
            began = time.perf_counter()
            side(i)
            if i > 0:
                times[name].append(time.perf_counter() - began)
    return times


def report(name, rows, times):
    medians = {side: statistics.median(t) for side, t in times.items()}
    for side, t in times.items():
        print(f"{name:5} {side:7} median {medians[side]:.2f} s, {rows / medians[side] / 1e6:.2f} M rows/s; all: {' '.join(f'{x:.2f}' for x in t)}")
    ratio = medians["duckdb"] / medians["lake"]
    print(f"{name:5} ratio {ratio:.2f}, bar {BARS[name]}")
    command = f"make bench ({name}, {rows:,} rows × 8)"
    figures = f"lake {medians['lake']:.2f} s, DuckDB {medians['duckdb']:.2f} s"
    print(f"| {command} | {machine()} | {datetime.date.today()} | {figures} | {ratio:.2f} |")
    return [] if ratio >= BARS[name] else [f"{name} {ratio:.2f} < {BARS[name]}"]


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = platform.processor() or platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB"


if __name__ == "__main__":
    main()
