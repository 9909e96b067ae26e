package delta_test

import (
	"context"
	"io"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
	"github.com/lakeward/lake/objects/mem"
)

// refused are the types that have no form in Delta, or none yet.
var refused = []string{
	"timestamp_s", "timestamp_ms", "timestamp_us_zone", "list_of_timestamp_ns", "dictionary_of_timestamp_ns", "dictionary_of_list",
	"float16", "time32", "time64", "duration", "date64", "fixed_size_binary", "decimal32", "decimal64", "decimal256", "decimal_negative_scale",
	"utf8_view", "binary_view", "list_view", "large_list_view", "run_end_encoded", "uuid", "extension_unknown",
	"month_interval", "day_time_interval", "month_day_nano_interval", "dense_union", "sparse_union", "null",
	"struct_without_fields", "struct_of_float16",
}

func newEngine(s objects.Store) engine.Engine { return delta.New(s, delta.Options{}) }

func openLocal(t testing.TB, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestEngineInMemory(t *testing.T) {
	enginetest.Run(t, enginetest.Options{
		Store: func(*testing.T) objects.Store { return mem.New() },
		New:   newEngine, Read: readScan, Refused: refused,
	})
}

func TestEngineOnDisk(t *testing.T) {
	enginetest.Run(t, enginetest.Options{
		Store: func(t *testing.T) objects.Store { return openLocal(t, t.TempDir()) },
		New:   newEngine, Read: readScan, Refused: refused,
	})
}

// readScan reads the files of a scan as any Parquet files.
func readScan(ctx context.Context, s objects.Store, scan engine.Scan) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, f := range scan.Files {
			if !readFile(ctx, s, f, yield) {
				return
			}
		}
	}
}

func readFile(ctx context.Context, s objects.Store, f engine.DataFile, yield func(arrow.RecordBatch, error) bool) bool {
	r, err := s.Open(ctx, f.Object)
	if err != nil {
		return yield(nil, err)
	}
	defer r.Close()
	_, rows, done, err := delta.ParquetRows(ctx, r, r.Size())
	if err != nil {
		return yield(nil, err)
	}
	defer done()
	for b, err := range rows {
		if !yield(b, err) || err != nil {
			return false
		}
	}
	return true
}

// readSeekerAt is an object as arrow-go reads files.
func readSeekerAt(r objects.Reader) *io.SectionReader { return io.NewSectionReader(r, 0, r.Size()) }
