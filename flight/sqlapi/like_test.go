package sqlapi

import (
	"strings"
	"testing"
)

func TestLike(t *testing.T) {
	pattern := func(s string) *string { return &s }
	for _, tt := range []struct {
		pattern *string
		name    string
		want    bool
	}{
		{nil, "anything", true},
		{pattern(""), "", true},
		{pattern(""), "a", false},
		{pattern("%"), "", true},
		{pattern("%"), "anything", true},
		{pattern("flights"), "flights", true},
		{pattern("Flights"), "flights", true},
		{pattern("flight"), "flights", false},
		{pattern("fl%"), "flights", true},
		{pattern("%ts"), "flights", true},
		{pattern("%igh%"), "flights", true},
		{pattern("f%g%s"), "flights", true},
		{pattern("f%g%x"), "flights", false},
		{pattern("%%"), "x", true},
		{pattern("fligh_s"), "flights", true},
		{pattern("_"), "", false},
		{pattern("a_b"), "a_b", true},
		{pattern("a_b"), "axb", true},
		{pattern(`a\_b`), "a_b", true},
		{pattern(`a\_b`), "axb", false},
		{pattern(`a\%`), "a%", true},
		{pattern(`a\%`), "ab", false},
		{pattern(`a\\`), `a\`, true},
		{pattern("%a%a%a%"), "aa", false},
		{pattern("%a%a%a%"), "banana", true},
	} {
		if got := like(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q like %q = %v", tt.name, *tt.pattern, got)
		}
	}
	// A pattern made to be slow is not.
	if like(pattern(strings.Repeat("%a", 2000)+"b"), strings.Repeat("a", 63)) {
		t.Error("a pattern that does not match does")
	}
}
