package delta_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/mem"
)

// Versions of other writers may say times that go back, or none.
func TestVersionsByTime(t *testing.T) {
	s := mem.New()
	const ms = `{"commitInfo":{"timestamp":`
	for v, body := range []string{
		ms + `1000}}` + "\n" + `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" +
			`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`,
		ms + `2000}}`,
		ms + `1500}}`, // a clock that is behind
		`{"commitInfo":{"operation":"WRITE"}}`,
		ms + `3000}}`,
	} {
		name := objects.Location("t").Join("_delta_log/0000000000000000000" + string(rune('0'+v)) + ".json")
		if _, err := objects.Put(t.Context(), s, name, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	line := delta.New(s, delta.Options{}).Table("t").(engine.Timeline)
	for _, tt := range []struct {
		at     int64 // microseconds
		newest ident.Version
		want   ident.Version
	}{
		{1_000_000, 4, 0}, {1_999_999, 4, 0}, {2_000_000, 4, 3}, {2_000_000, 1, 1}, {2_999_999, 4, 3}, {3_000_000, 4, 4}, {9_000_000, 4, 4}, {9_000_000, 2, 2},
	} {
		if v, err := line.VersionAt(t.Context(), tt.newest, time.UnixMicro(tt.at)); v != tt.want || err != nil {
			t.Errorf("at %d of %d: version %d, %v, want %d", tt.at, tt.newest, v, err, tt.want)
		}
	}
	_, err := line.VersionAt(t.Context(), 4, time.UnixMicro(999_999))
	if !errors.Is(err, engine.ErrNoVersion) || !strings.Contains(fault.Public(err), "1970-01-01 00:00:01.000 UTC") {
		t.Errorf("before the first version: %v", err)
	}
}
