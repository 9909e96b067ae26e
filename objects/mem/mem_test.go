package mem_test

import (
	"testing"

	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/mem"
	"github.com/lakeward/lake/objects/objectstest"
)

func TestStore(t *testing.T) {
	objectstest.Run(t, func(*testing.T) objects.Store { return mem.New() })
}
