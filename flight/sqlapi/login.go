package sqlapi

import (
	"encoding/base64"
	"strings"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
)

// bearerLife is how long a login lasts.
const bearerLife = 24 * time.Hour

// authorization is the header of a login and of what it returns.
const authorization = "authorization"

var errLogin = fault.New(fault.Unauthentic, "a login needs a user name and a password in a Basic authorization header; or leave both out")

// Handshake implements the Flight service: the login of drivers that were
// given a user name and a password. This server knows no identities yet and
// listens on loopback only, so anyone is the tenant of all; what comes back is
// sealed, so that no later server takes it for more.
func (s *Server) Handshake(stream arrowflight.FlightService_HandshakeServer) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	user, ok := basicUser(md.Get(authorization))
	if !ok {
		return errLogin
	}
	sealed, err := s.keys.Seal(tickets.Claims{
		Audience: tickets.Bearer,
		Tenant:   s.o.Tenant,
		User:     user,
		Expiry:   s.o.Now().Add(bearerLife),
	})
	if err != nil {
		return err
	}
	token := "Bearer " + base64.RawURLEncoding.EncodeToString(sealed)
	if err := stream.SendHeader(metadata.Pairs(authorization, token)); err != nil {
		return err
	}
	return stream.Send(&arrowflight.HandshakeResponse{})
}

// userBytesMax bounds a user name.
const userBytesMax = 256

// basicUser returns the user of a Basic authorization header.
func basicUser(headers []string) (string, bool) {
	for _, h := range headers {
		scheme, rest, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Basic") {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		if err != nil {
			return "", false
		}
		user, _, ok := strings.Cut(string(b), ":")
		return user, ok && user != "" && len(user) <= userBytesMax
	}
	return "", false
}
