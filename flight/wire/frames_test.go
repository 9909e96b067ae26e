package wire_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
)

// upload is the messages of a client, recorded.
type upload struct {
	sent []*arrowflight.FlightData
	at   int
	end  error // after the last message; io.EOF if nil
}

func (u *upload) Send(d *arrowflight.FlightData) error {
	u.sent = append(u.sent, &arrowflight.FlightData{
		DataHeader: append([]byte{}, d.DataHeader...), DataBody: append([]byte{}, d.DataBody...), AppMetadata: append([]byte{}, d.AppMetadata...),
	})
	return nil
}

func (u *upload) next() (*arrowflight.FlightData, error) {
	if u.at == len(u.sent) {
		if u.end != nil {
			return nil, u.end
		}
		return nil, io.EOF
	}
	u.at++
	return u.sent[u.at-1], nil
}

var (
	textType    = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	mixedSchema = arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "d", Type: textType, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
)

// mixed is a batch of rows, of which the dictionary has values of its own.
func mixed(t testing.TB, first, n int) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, mixedSchema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		if i%7 == 3 {
			for _, f := range b.Fields() {
				f.AppendNull()
			}
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint(i / 3)); err != nil {
			t.Fatal(err)
		}
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		for k := range i % 3 {
			l.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint(i, k))
		}
	}
	return b.NewRecordBatch()
}

// uploaded is batches as a client sends them.
func uploaded(t testing.TB, batches []arrow.RecordBatch, o ...ipc.Option) *upload {
	t.Helper()
	u := &upload{}
	w := arrowflight.NewRecordWriter(u, append(o, ipc.WithSchema(mixedSchema))...)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return u
}

// read is all rows of an upload as JSON, and how many batches they came in.
func read(t testing.TB, u *upload, limits wire.FrameLimits) (rows []string, batches int, f *wire.Frames, err error) {
	t.Helper()
	u.at = 0
	if f, err = wire.ReadFrames(u.next, ident.NewIngestDigest(), limits); err != nil {
		return nil, 0, nil, err
	}
	for b, err := range f.Batches() {
		if err != nil {
			return rows, batches, f, err
		}
		batches++
		for i := range int(b.NumRows()) {
			row := ""
			for _, c := range b.Columns() {
				row += c.ValueStr(i) + "|"
			}
			rows = append(rows, row)
		}
	}
	return rows, batches, f, nil
}

func TestFramesBringTheRowsThatWereSent(t *testing.T) {
	for _, tt := range []struct {
		name            string
		sizes           []int
		o               []ipc.Option
		batchesMax      int
		sliced, metaToo bool
	}{
		{name: "none", batchesMax: 0},
		{name: "an empty batch", sizes: []int{0}, batchesMax: 0},
		{name: "one", sizes: []int{100}, batchesMax: 1},
		{name: "thousands of tiny ones", sizes: repeat(1, 3000), batchesMax: 3000},
		{name: "tiny ones whose dictionaries fit into one", sizes: repeat(3, 100), batchesMax: 1},
		{name: "with dictionaries that grow", sizes: repeat(10, 20), o: []ipc.Option{ipc.WithDictionaryDeltas(true)}, batchesMax: 1},
		{name: "slices", sizes: repeat(50, 7), sliced: true, batchesMax: 1},
		{name: "with empty batches and metadata between", sizes: []int{5, 0, 5, 0, 0, 5}, metaToo: true, batchesMax: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var batches []arrow.RecordBatch
			var want []string
			at := 0
			for _, n := range tt.sizes {
				b := mixed(t, at, n)
				defer b.Release()
				if tt.sliced {
					b = b.NewSlice(5, int64(n)-5)
					defer b.Release()
				}
				at += n
				batches = append(batches, b)
				for i := range int(b.NumRows()) {
					row := ""
					for _, c := range b.Columns() {
						row += c.ValueStr(i) + "|"
					}
					want = append(want, row)
				}
			}
			u := uploaded(t, batches, tt.o...)
			if tt.metaToo {
				u.sent = append(u.sent[:2:2], append([]*arrowflight.FlightData{{AppMetadata: []byte("note")}}, u.sent[2:]...)...)
			}
			got, n, f, err := read(t, u, wire.FrameLimits{})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || f.Rows() != int64(len(want)) {
				t.Fatalf("%d of %d rows (%v)", len(got), len(want), err)
			}
			if n > tt.batchesMax {
				t.Errorf("they came in %d batches, want at most %d", n, tt.batchesMax)
			}
			d := ident.NewIngestDigest()
			for _, m := range u.sent {
				d.Add(m.DataHeader, m.DataBody, m.AppMetadata)
			}
			if f.Digest() != d.Sum() {
				t.Error("the digest is not that of the messages")
			}
			u.at = 0
			drained, err := wire.ReadFrames(u.next, ident.NewIngestDigest(), wire.FrameLimits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := drained.Drain(); err != nil || drained.Digest() != d.Sum() {
				t.Errorf("read for its digest alone it has another (%v)", err)
			}
		})
	}
}

func repeat(n, times int) (out []int) {
	for range times {
		out = append(out, n)
	}
	return out
}

func TestFramesAreBounded(t *testing.T) {
	var batches []arrow.RecordBatch
	for i := range 10 {
		b := mixed(t, 10*i, 10)
		defer b.Release()
		batches = append(batches, b)
	}
	u := uploaded(t, batches)
	var bytes int64
	for _, m := range u.sent {
		bytes += int64(len(m.DataHeader) + len(m.DataBody))
	}
	fits := wire.FrameLimits{Rows: 100, Bytes: bytes, Messages: len(u.sent)}
	if _, _, _, err := read(t, u, fits); err != nil {
		t.Errorf("at every limit: %v", err)
	}
	for name, l := range map[string]wire.FrameLimits{
		"rows":     {Rows: 99},
		"bytes":    {Bytes: bytes - 1},
		"messages": {Messages: len(u.sent) - 1},
	} {
		if _, _, _, err := read(t, u, l); fault.KindOf(err) != fault.Exhausted {
			t.Errorf("one more than %s: %v", name, err)
		}
	}
	fields := make([]arrow.Field, wire.DictionariesMax+1)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.ListOf(textType)}
	}
	many := &upload{}
	w := arrowflight.NewRecordWriter(many, ipc.WithSchema(arrow.NewSchema(fields, nil)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.ReadFrames(many.next, ident.NewIngestDigest(), wire.FrameLimits{}); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("many dictionaries: %v", err)
	}
}

func TestFramesThatAreNotRight(t *testing.T) {
	b := mixed(t, 0, 100)
	defer b.Release()
	good := uploaded(t, []arrow.RecordBatch{b})
	gone := errors.New("the client went away")
	for _, tt := range []struct {
		name string
		u    *upload
		kind fault.Kind
	}{
		{"nothing", &upload{}, fault.Invalid},
		{"no schema", &upload{sent: good.sent[1:]}, fault.Invalid},
		{"two schemas", &upload{sent: append(good.sent[:1:1], good.sent...)}, fault.Invalid},
		{"no dictionary", &upload{sent: append(good.sent[:1:1], good.sent[2:]...)}, fault.Invalid},
		{"an end before the end", &upload{sent: good.sent[:2], end: gone}, fault.Internal},
		{"a body of another", &upload{sent: append(good.sent[:2:2], &arrowflight.FlightData{DataHeader: good.sent[2].DataHeader, DataBody: good.sent[1].DataBody})}, fault.Invalid},
		{"an index outside of its dictionary", &upload{sent: func() []*arrowflight.FlightData {
			other := uploaded(t, []arrow.RecordBatch{mixed(t, 0, 1)})
			return []*arrowflight.FlightData{good.sent[0], other.sent[1], good.sent[2]}
		}()}, fault.Invalid},
		{"compression", uploaded(t, []arrow.RecordBatch{b}, ipc.WithLZ4()), fault.Unsupported},
	} {
		if _, _, _, err := read(t, tt.u, wire.FrameLimits{}); err == nil || fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.kind)
		}
	}
}

func FuzzFrames(f *testing.F) {
	for _, n := range []int{1, 20} {
		b := mixed(f, 0, n)
		u := uploaded(f, []arrow.RecordBatch{b})
		b.Release()
		f.Add(u.sent[0].DataHeader, u.sent[1].DataHeader, u.sent[1].DataBody, u.sent[2].DataHeader, u.sent[2].DataBody)
	}
	f.Fuzz(func(t *testing.T, schema, dict, dictBody, rows, rowsBody []byte) {
		u := &upload{sent: []*arrowflight.FlightData{
			{DataHeader: schema}, {DataHeader: dict, DataBody: dictBody}, {DataHeader: rows, DataBody: rowsBody}, {DataHeader: rows, DataBody: rowsBody},
		}}
		frames, err := wire.ReadFrames(u.next, ident.NewIngestDigest(), wire.FrameLimits{})
		if err != nil {
			return
		}
		for _, err := range frames.Batches() {
			if err != nil {
				return
			}
		}
	})
}
