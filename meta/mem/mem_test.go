package mem_test

import (
	"testing"

	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/mem"
	"github.com/lakeward/lake/meta/metatest"
)

func TestStore(t *testing.T) {
	metatest.Run(t, func(*testing.T) meta.Store { return mem.New() })
}
