package exec

/*
#include <stdint.h>
#include <stdlib.h>

// Two functions of duckdb.h, with its opaque handles as plain pointers: the
// Go bindings have them only behind a build tag.
struct ArrowSchema;
struct ArrowArray;
extern void *duckdb_to_arrow_schema(void *options, void **types, const char **names, uint64_t count, struct ArrowSchema *out);
extern void *duckdb_data_chunk_to_arrow(void *options, void *chunk, struct ArrowArray *out);
*/
import "C"

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// arrowSchema returns the Arrow fields of columns of the given names and types.
func arrowSchema(options duckdb.ArrowOptions, names []string, types []duckdb.LogicalType) (*arrow.Schema, error) {
	const pointerBytes = C.size_t(unsafe.Sizeof(uintptr(0)))
	n := len(types)
	cTypes := (*unsafe.Pointer)(C.calloc(C.size_t(n), pointerBytes))
	defer C.free(unsafe.Pointer(cTypes))
	cNames := (**C.char)(C.calloc(C.size_t(n), pointerBytes))
	defer C.free(unsafe.Pointer(cNames))
	for i := range n {
		unsafe.Slice(cTypes, n)[i] = types[i].Ptr
		name := C.CString(names[i])
		defer C.free(unsafe.Pointer(name))
		unsafe.Slice(cNames, n)[i] = name
	}
	out := (*cdata.CArrowSchema)(C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowSchema{}))))
	defer C.free(unsafe.Pointer(out))
	defer cdata.ReleaseCArrowSchema(out)
	if err := takeError(C.duckdb_to_arrow_schema(options.Ptr, cTypes, cNames, C.uint64_t(n), (*C.struct_ArrowSchema)(unsafe.Pointer(out)))); err != nil {
		return nil, err
	}
	return cdata.ImportCArrowSchema(out)
}

// arrowBatch returns the chunk's rows, which stay readable until the batch is
// released, whatever becomes of the chunk.
func arrowBatch(options duckdb.ArrowOptions, schema *arrow.Schema, chunk duckdb.DataChunk) (arrow.RecordBatch, error) {
	out := (*cdata.CArrowArray)(C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowArray{}))))
	defer C.free(unsafe.Pointer(out))
	defer cdata.ReleaseCArrowArray(out)
	if err := takeError(C.duckdb_data_chunk_to_arrow(options.Ptr, chunk.Ptr, (*C.struct_ArrowArray)(unsafe.Pointer(out)))); err != nil {
		return nil, err
	}
	return cdata.ImportCRecordBatchWithSchema(out, schema)
}

func takeError(p unsafe.Pointer) error {
	e := duckdb.ErrorData{Ptr: p}
	defer duckdb.DestroyErrorData(&e)
	if !duckdb.ErrorDataHasError(e) {
		return nil
	}
	return parseFailure(duckdb.ErrorDataMessage(e))
}
