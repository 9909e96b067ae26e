package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/lakeward/lake/fault"
)

// lakeObject names the lake that a store holds: {"format":1,"lake":"<uuid>"}.
const (
	lakeObject   = "lake.json"
	lakeFormat   = 1
	lakeBytesMax = 4 << 10
)

// ErrNoLake says that a store holds no lake.
var ErrNoLake = fault.New(fault.NotFound, "there is no lake.json here; give the root of a lake")

type lakeFile struct {
	Format int    `json:"format"`
	Lake   string `json:"lake"`
}

// Lake returns the id of the lake that a store holds, or ErrNoLake.
func Lake(ctx context.Context, s Store) (string, error) {
	b, err := Read(ctx, s, lakeObject, lakeBytesMax)
	if errors.Is(err, ErrNotFound) {
		return "", ErrNoLake
	}
	if err != nil {
		return "", err
	}
	var f lakeFile
	if err := json.Unmarshal(b, &f); err != nil {
		return "", fmt.Errorf("%w: %v", fault.New(fault.Corrupt, "lake.json does not decode; restore it"), err)
	}
	if f.Format != lakeFormat {
		return "", fault.Newf(fault.Unsupported, "lake.json has format %d and this lake reads %d; run the lake that wrote it, or a newer one", f.Format, lakeFormat)
	}
	if _, err := uuid.Parse(f.Lake); err != nil {
		return "", fault.New(fault.Corrupt, "lake.json has no valid id; restore it")
	}
	return f.Lake, nil
}

// MakeLake returns the id of the lake that a store holds, and gives it a new
// one if it holds none.
func MakeLake(ctx context.Context, s Store) (string, error) {
	id, err := Lake(ctx, s)
	if !errors.Is(err, ErrNoLake) {
		return id, err
	}
	u, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("name a lake: %w", err)
	}
	b, err := json.Marshal(lakeFile{lakeFormat, u.String()})
	if err != nil {
		return "", err
	}
	if _, err := Put(ctx, s, lakeObject, append(b, '\n')); err != nil && !errors.Is(err, ErrExists) {
		return "", err
	}
	return Lake(ctx, s) // also what another process put there first
}
