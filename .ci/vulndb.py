"""Lays the reports of golang.org/x/vulndb out as the folder that govulncheck -db reads.

usage: vulndb.py OSV_DIRECTORY OUT_DIRECTORY PSEUDO_VERSION
"""

import json
import pathlib
import sys

source, out, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
stamp = version.split("-")[1]
modified = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:]}Z"

(out / "ID").mkdir(parents=True)
(out / "index").mkdir()
modules, reports = {}, []
for file in sorted(source.glob("GO-*.json")):
    report = json.loads(file.read_text())
    report["modified"] = modified
    (out / "ID" / f"{report['id']}.json").write_text(json.dumps(report))
    reports.append({"id": report["id"], "modified": modified, "aliases": report.get("aliases") or []})
    if report.get("withdrawn"):
        continue
    for affected in report.get("affected", []):
        fixed = [e["fixed"] for r in affected.get("ranges", []) for e in r.get("events", []) if "fixed" in e]
        entry = {"id": report["id"], "modified": modified}
        if fixed:
            entry["fixed"] = fixed[-1]
        modules.setdefault(affected["package"]["name"], {})[report["id"]] = entry
if not reports:
    sys.exit(f"no reports in {source}")

index = out / "index"
index.joinpath("modules.json").write_text(
    json.dumps([{"path": path, "vulns": list(vulns.values())} for path, vulns in sorted(modules.items())])
)
index.joinpath("vulns.json").write_text(json.dumps(reports))
index.joinpath("db.json").write_text(json.dumps({"modified": modified}))
print(f"{len(reports)} reports of {len(modules)} modules", file=sys.stderr)
