// Package tools runs tools for Go on a database that libpq's variables name.
package tools

import (
	"os"
	"reflect"
	"testing"
)

func require(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, seen, expected any) {
	t.Helper()
	if !reflect.DeepEqual(seen, expected) {
		t.Fatalf("%#v, and not %#v", seen, expected)
	}
}

func address() string { return os.Getenv("PGHOST") + ":" + os.Getenv("PGPORT") }

func note(text string) *string { return &text }
