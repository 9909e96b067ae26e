package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestE2EJDBC drives the server with a stack that shares no code with it. It
// decides by the schemas of prepared statements whether there are rows at all.
func TestE2EJDBC(t *testing.T) {
	driver := os.Getenv("LAKE_JDBC")
	if driver == "" {
		missing(t, "LAKE_JDBC is not set: `make e2e` fetches the driver")
	}
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	rows := int64Of(t, s.client(), "SELECT count(*) FROM demo.flights")
	out := output(t, "java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", driver, "testdata/clients/Jdbc.java",
		strings.TrimPrefix(s.ready.Flight, "grpc://"), strconv.FormatInt(rows, 10))
	if !strings.Contains(string(out), "PASSED") {
		t.Errorf("%s", out)
	}
	s.stop()
	s.noDeaths()
}
