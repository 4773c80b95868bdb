package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestReadsEveryType(t *testing.T) {
	ctx, conn := connect(t)
	file, err := os.ReadFile(os.Getenv("COLONNADE_TYPES"))
	require(t, err)
	var types []struct {
		Name, Query string
		Texts       []*string
	}
	require(t, json.Unmarshal(file, &types))
	for _, each := range types {
		t.Run(each.Name, func(t *testing.T) {
			for _, mode := range modes {
				rows, err := conn.Query(ctx, each.Query, mode, pgx.QueryResultFormats{pgx.TextFormatCode})
				require(t, err)
				at := 0
				for ; rows.Next(); at++ {
					var found *string
					if raw := rows.RawValues()[1]; raw != nil {
						text := string(raw)
						found = &text
					}
					equal(t, found, each.Texts[at], mode)
				}
				require(t, rows.Err())
				equal(t, at, len(each.Texts), mode)
			}
			readsTextAsBinary(t, ctx, conn, each.Query)
		})
	}
}

// What pgx makes of the binary form is what it makes of the text.
func readsTextAsBinary(t *testing.T, ctx context.Context, conn *pgx.Conn, query string) {
	t.Helper()
	read := func(format int16) ([]string, error) {
		rows, err := conn.Query(ctx, query, pgx.QueryResultFormats{format})
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			description := row.FieldDescriptions()[1]
			known, ok := conn.TypeMap().TypeForOID(description.DataTypeOID)
			if raw := row.RawValues()[1]; !ok || !known.Codec.FormatSupported(pgx.TextFormatCode) || raw == nil {
				return fmt.Sprint(raw == nil), nil
			}
			value, err := known.Codec.DecodeValue(conn.TypeMap(), description.DataTypeOID, description.Format, row.RawValues()[1])
			return plain(value), err
		})
	}
	binary, err := read(pgx.BinaryFormatCode)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "0A000" {
		// Nanoseconds, and lists of lists of different lengths, have no binary form in PostgreSQL, and pgx reads no text of them.
		return
	}
	require(t, err)
	text, err := read(pgx.TextFormatCode)
	require(t, err)
	equal(t, binary, text)
}

// A value's text; numbers without the zeros that say how they were written.
func plain(value any) string {
	if number, ok := value.(pgtype.Numeric); ok && number.Valid && !number.NaN && number.InfinityModifier == pgtype.Finite {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(number.Exp, -number.Exp))), nil)
		if number.Exp >= 0 {
			return new(big.Rat).SetInt(power.Mul(power, number.Int)).String()
		}
		return new(big.Rat).SetFrac(number.Int, power).String()
	}
	if items, ok := value.([]any); ok {
		texts := make([]string, len(items))
		for at, item := range items {
			texts[at] = plain(item)
		}
		return fmt.Sprint(texts)
	}
	return fmt.Sprint(value)
}

func comesBack[T any](t *testing.T, conn *pgx.Conn, mode pgx.QueryExecMode, typeName string, given T) {
	t.Helper()
	query := "select $1::" + typeName
	found := value[T](t, conn, query, mode, given)
	if !same(found, given) {
		t.Errorf("%v as %s comes back as %v (%v)", given, typeName, found, mode)
	}
	if null := value[*T](t, conn, query, mode, (*T)(nil)); null != nil {
		t.Errorf("NULL as %s comes back as %v (%v)", typeName, *null, mode)
	}
}

func same(found, given any) bool {
	if moment, ok := given.(time.Time); ok {
		return moment.Equal(found.(time.Time))
	}
	return reflect.DeepEqual(found, given)
}

func TestValuesComeBack(t *testing.T) {
	_, conn := connect(t)
	one := int32(1)
	texts := []*string{new(string), nil}
	*texts[0] = "b,\"c\\ '"
	for _, mode := range modes {
		comesBack(t, conn, mode, "boolean", true)
		comesBack(t, conn, mode, "smallint", int16(-7))
		comesBack(t, conn, mode, "integer", int32(math.MinInt32))
		comesBack(t, conn, mode, "bigint", int64(math.MaxInt64))
		comesBack(t, conn, mode, "float", float32(1e-45))
		comesBack(t, conn, mode, "double", 0.1)
		comesBack(t, conn, mode, "varchar", "it's $1; \\ -- 'käse'")
		comesBack(t, conn, mode, "bytea", []byte{0, 1, 92, 255})
		comesBack(t, conn, mode, "timestamptz", time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC))
		comesBack(t, conn, mode, "timestamp", time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC))
		comesBack(t, conn, mode, "date", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
		comesBack(t, conn, mode, "time", pgtype.Time{Microseconds: 3_723_000_004, Valid: true})
		comesBack(t, conn, mode, "interval", pgtype.Interval{Months: 14, Days: -3, Microseconds: 5, Valid: true})
		comesBack(t, conn, mode, "uuid", pgtype.UUID{Bytes: [16]byte{0, 1, 2, 255}, Valid: true})
		comesBack(t, conn, mode, "decimal(38, 10)", pgtype.Numeric{Int: big.NewInt(-12345), Exp: -10, Valid: true})
		comesBack(t, conn, mode, "json", `{"a": [1.0, null]}`)
		comesBack(t, conn, mode, "integer[]", []*int32{&one, nil})
		comesBack(t, conn, mode, "varchar[]", texts)
		comesBack(t, conn, mode, "double[]", []float64{0.5, -1})
		comesBack(t, conn, mode, "smallint[]", []int16{})
		if mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol {
			// The others do not ask the server what these are.
			comesBack(t, conn, mode, "json", map[string]any{"a": []any{1.0, nil}})
			comesBack(t, conn, mode, "integer[][]", [][]int32{{1, 2}, {3, 4}})
		}
	}
}

func TestCompositeTypesAreLoaded(t *testing.T) {
	ctx, conn := connect(t)
	execute(t, conn, "create type go_item as (a integer, b text)")
	execute(t, conn, "create type go_whole as (item go_item, items go_item[])")
	defer execute(t, conn, "drop type go_item")
	defer execute(t, conn, "drop type go_whole")
	for _, name := range []string{"go_item", "go_item[]", "go_whole"} {
		loaded, err := conn.LoadType(ctx, name)
		require(t, err)
		conn.TypeMap().RegisterType(loaded)
	}
	type item struct {
		A int32
		B *string
	}
	type whole struct {
		Item  item
		Items []item
	}
	text := "b,\"c\\ '"
	given := whole{item{1, &text}, []item{{2, nil}}}
	for _, mode := range modes[:3] {
		equal(t, value[item](t, conn, "select $1::go_item", mode, given.Item), given.Item, mode)
		equal(t, value[whole](t, conn, "select $1::go_whole", mode, given), given, mode)
		equal(t, value[[]item](t, conn, "select ($1::go_whole).items", mode, given), given.Items, mode)
	}
}
