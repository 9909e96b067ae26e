package sqlapi_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// login sends an authorization header and returns the one that comes back.
func (l *lake) login(t *testing.T, header string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if header != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", header)
	}
	stream, err := l.client.Handshake(ctx)
	if err != nil {
		return "", err
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	if _, err := stream.Recv(); err != nil {
		return "", err
	}
	md, err := stream.Header()
	return strings.Join(md.Get("authorization"), ","), err
}

func basic(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }

func TestLoginReturnsASealedBearer(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	token, err := l.login(t, basic("ana:secret"))
	if err != nil || !strings.HasPrefix(token, "Bearer ") || len(token) < 60 {
		t.Fatalf("%q, %v", token, err)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "Bearer "))
	if err != nil || strings.Contains(string(sealed), "ana") || strings.Contains(string(sealed), "secret") {
		t.Errorf("the token shows who logged in: %q, %v", sealed, err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", token)
	if _, err := l.sql.Execute(ctx, "SELECT count(*) FROM demo.flights"); err != nil {
		t.Errorf("a call with the token: %v", err)
	}
}

func TestLoginsThatAreNone(t *testing.T) {
	l := open(t)
	for name, header := range map[string]string{
		"no header":      "",
		"another kind":   "Digest x",
		"not base64":     "Basic !!",
		"no colon":       basic("ana"),
		"no user":        basic(":secret"),
		"an endless one": basic(strings.Repeat("a", 300) + ":x"),
	} {
		if _, err := l.login(t, header); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}
