package opshttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	opshttp "github.com/postbus/postbus/ops/http"
)

// node is a part of a parsed document.
type node = map[string]any

// at goes down the names of a parsed document; nil where there is nothing.
func at(value any, names ...string) any {
	for _, name := range names {
		object, ok := value.(node)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

func document(t testing.TB, handler http.Handler) (node, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/openapi.json", nil))
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "application/openapi+json" {
		t.Fatalf("%d %s", rec.Code, rec.Header())
	}
	var doc node
	must(t, json.Unmarshal(rec.Body.Bytes(), &doc))
	return doc, rec.Body.String()
}

// The document is the same for the same registry.
func TestDocumentIsStable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, first := document(t, r.handler)
	_, second := document(t, r.face(t, opshttp.Bearer(check), opshttp.Config{}))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// The document has every operation, with the schemas that the registry checks against, and no other.
func TestDocumentHasEveryOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	doc, _ := document(t, r.handler)
	paths := at(doc, "paths").(node)
	all := r.reg.All()
	if len(paths) != len(all) {
		t.Errorf("%d paths, %d operations", len(paths), len(all))
	}
	for _, o := range all {
		post := at(paths, "/v1/"+o.Name, "post")
		if post == nil {
			t.Errorf("%s is not in the document", o.Name)
			continue
		}
		answer := at(post, "responses", "200", "content", "application/json", "schema")
		if o.Destructive {
			either := at(answer, "oneOf").([]any)
			answer = either[0]
			if len(either) != 2 || at(resolve(t, doc, either[1]), "properties", "dry_run") == nil ||
				at(post, "parameters").([]any)[0].(node)["name"] != "Confirm" {
				t.Errorf("%s: its dry run is not described", o.Name)
			}
		}
		want := node{"id": strings.ReplaceAll(o.Name, ".", "_"), "access": string(o.Access), "input": plain(t, o.Input), "output": plain(t, o.Output)}
		got := node{
			"id": at(post, "operationId"), "access": at(post, "x-access"),
			"input": at(post, "requestBody", "content", "application/json", "schema"), "output": answer,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", o.Name, diff)
		}
	}
}

// plain is a schema as it is read back.
func plain(t testing.TB, schema any) any {
	t.Helper()
	raw, err := json.Marshal(schema)
	must(t, err)
	var out any
	must(t, json.Unmarshal(raw, &out))
	return out
}

// The document is OpenAPI 3.1: what must be there is, every reference leads somewhere, every schema is of a known type.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc, _ := document(t, newRig(t).handler)
	if at(doc, "openapi") != "3.1.0" || at(doc, "info", "title") != "Postbus" || at(doc, "info", "version") != "dev" ||
		at(doc, "components", "securitySchemes", "bearer", "scheme") != "bearer" || at(doc, "servers").([]any)[0].(node)["url"] != "/api" {
		t.Errorf("head: %v %v %v", doc["openapi"], doc["info"], doc["servers"])
	}
	code := at(resolve(t, doc, node{"$ref": "#/components/schemas/Problem"}), "properties", "code", "enum")
	if codes, _ := code.([]any); len(codes) != 9 {
		t.Errorf("codes of a problem: %v", code)
	}
	ids := map[any]bool{}
	for path, item := range at(doc, "paths").(node) {
		post := at(item, "post")
		if id := at(post, "operationId"); id == nil || ids[id] || at(post, "summary") == nil || !strings.HasPrefix(path, "/v1/") {
			t.Errorf("%s: operationId %v, or no summary", path, id)
		} else {
			ids[id] = true
		}
		for status, response := range at(post, "responses").(node) {
			if at(resolve(t, doc, response), "description") == nil || len(status) != 3 {
				t.Errorf("%s: response %s has no description", path, status)
			}
		}
	}
	walk(t, doc, doc, "#")
}

var schemaTypes = map[any]bool{"object": true, "array": true, "string": true, "integer": true, "number": true, "boolean": true, "null": true}

func walk(t *testing.T, doc node, value any, path string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			walk(t, doc, item, path+"/[]")
		}
	case node:
		if _, ok := v["$ref"].(string); ok {
			resolve(t, doc, v)
		}
		for name, item := range v {
			if inSchema := strings.Contains(path, "chema"); name == "type" && inSchema && !strings.HasSuffix(path, "/properties") {
				for _, one := range listed(item) {
					if !schemaTypes[one] {
						t.Errorf("%s is of type %v", path, one)
					}
				}
			}
			walk(t, doc, item, path+"/"+name)
		}
	}
}

// listed is a value that may stand alone or in a list.
func listed(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// resolve is what a reference leads to, or the value itself.
func resolve(t testing.TB, doc node, value any) any {
	t.Helper()
	ref, ok := at(value, "$ref").(string)
	if !ok {
		return value
	}
	found := at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	if found == nil {
		t.Fatalf("the reference %s leads nowhere", ref)
	}
	return found
}
