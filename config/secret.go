package config

import "log/slog"

// A Secret is a value that is never printed: whatever formats, logs or marshals
// it gets ***.
type Secret struct {
	text *string // a pointer, so that not even reflection prints it
}

const secretMask = "***"

// NewSecret returns text as a secret.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, for the one call that needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (Secret) String() string               { return secretMask }
func (Secret) GoString() string             { return secretMask }
func (Secret) LogValue() slog.Value         { return slog.StringValue(secretMask) }
func (Secret) MarshalText() ([]byte, error) { return []byte(secretMask), nil }
