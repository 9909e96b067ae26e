package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/sdk"
)

// exampleLake is a lake that ends with its example, in place of
// sdk.Open(sdk.Options{URI: "grpc://127.0.0.1:31337"}).
func exampleLake(ctx context.Context) (*testLake, func()) {
	dir, err := os.MkdirTemp("", "lake-example")
	if err != nil {
		panic(err)
	}
	l, err := newLake(ctx, dir)
	if err != nil {
		panic(err)
	}
	return l, func() {
		if err := errors.Join(l.stop(), os.RemoveAll(dir)); err != nil {
			panic(err)
		}
	}
}

// A few rows, exactly once: the operation id is kept until the append is known
// to be there.
func ExampleClient_Append() {
	ctx := context.Background()
	c, stop := exampleLake(ctx)
	defer stop()

	columns, err := sdk.ParseSchema("id BIGINT")
	if err != nil {
		log.Panic(err)
	}
	if _, err := c.CreateTable(ctx, "robots.runs", columns, ident.OperationID{}); err != nil {
		log.Panic(err)
	}
	op, err := ident.NewOperation()
	if err != nil {
		log.Panic(err)
	}
	rows := []arrow.RecordBatch{numbers(1, 3)}
	for range 2 { // the second time, say after a crash, it is there already
		done, err := c.Append(ctx, "robots.runs", rows, sdk.AppendOptions{Operation: op})
		if pending, ok := errors.AsType[*sdk.Pending](err); ok {
			fmt.Println("not known yet; send it again with operation", pending.Operation)
			return
		}
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(done.Rows, "rows, version", done.Version, "replayed:", done.Replayed)
	}
	// Output:
	// 3 rows, version 1 replayed: false
	// 3 rows, version 1 replayed: true
}

// Any number of rows, as they come, into a table that is made for them.
func ExampleClient_Ingest() {
	ctx := context.Background()
	c, stop := exampleLake(ctx)
	defer stop()

	batches := func(yield func(arrow.RecordBatch, error) bool) {
		for i := range int64(10) {
			b := numbers(1000*i, 1000)
			ok := yield(b, nil)
			b.Release()
			if !ok {
				return
			}
		}
	}
	done, err := c.Ingest(ctx, sdk.IngestOptions{Table: "robots.poses", Mode: sdk.ModeCreate}, schema, batches)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(done.Rows, "rows")
	_, err = c.Ingest(ctx, sdk.IngestOptions{Table: "robots.poses", Mode: sdk.ModeCreate}, schema, batches)
	fmt.Println(errors.Is(err, sdk.ErrExists))
	// Output:
	// 10000 rows
	// true
}

// A statement that runs again and again, with other values.
func ExampleClient_Prepare() {
	ctx := context.Background()
	c, stop := exampleLake(ctx)
	defer stop()
	if _, err := c.Ingest(ctx, sdk.IngestOptions{Table: "robots.poses", Mode: sdk.ModeCreate}, schema, sequence(1, 10)); err != nil {
		log.Panic(err)
	}

	stmt, err := c.Prepare(ctx, "SELECT count(*) + $1 FROM robots.poses")
	if err != nil {
		log.Panic(err)
	}
	for _, more := range []int{1, 2} {
		rows, err := stmt.Query(ctx, more)
		if err != nil {
			log.Panic(err)
		}
		for rows.Next() {
			var n int64
			if err := rows.Scan(&n); err != nil {
				log.Panic(err)
			}
			fmt.Println(n)
		}
		if err := rows.Err(); err != nil {
			log.Panic(err)
		}
		rows.Close()
	}
	// Output:
	// 11
	// 12
}
