package opshttp

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postbus/postbus/ops"
)

const (
	schemasRef  = "#/components/schemas/"
	problemRef  = "#/components/responses/Problem"
	bearer      = "bearer"
	description = "Every operation of the bus, called with POST. What is destructive first answers a dry run with a token; " +
		"the same call with that token in the header Confirm does it. Ids are strings; a list goes on with the cursor that next gave."
)

// failures are the statuses with which any operation can answer a Problem.
var failures = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict,
	http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// newDocument is an OpenAPI document with no operations yet.
func newDocument(cfg Config) *huma.OpenAPI {
	schemas := huma.NewMapRegistry(schemasRef, huma.DefaultSchemaNamer)
	server := cfg.Prefix
	if server == "" {
		server = "/"
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: cfg.Title, Version: cfg.Version, Description: description},
		Servers: []*huma.Server{{URL: server}},
		Components: &huma.Components{
			Schemas: schemas,
			Responses: map[string]*huma.Response{"Problem": {
				Description: "It failed: code and detail say why",
				Content:     content(problemType, schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")),
			}},
			SecuritySchemes: map[string]*huma.SecurityScheme{bearer: {
				Type: "http", Scheme: bearer, Description: "An API token with the scope that x-access names",
			}},
		},
		Security: []map[string][]string{{bearer: {}}},
	}
}

// describe is an operation as the document has it: the schemas are the registry's own.
func describe(document *huma.OpenAPI, o *ops.Operation) *huma.Operation {
	room, _, _ := strings.Cut(o.Name, ".")
	described := &huma.Operation{
		Method: http.MethodPost, Path: versionPath + o.Name, OperationID: strings.ReplaceAll(o.Name, ".", "_"),
		Summary: o.Summary, Tags: []string{room},
		RequestBody: &huma.RequestBody{Required: len(o.Input.Required) > 0, Content: content(jsonType, o.Input)},
		Responses:   map[string]*huma.Response{"200": {Description: "What it answers", Content: content(jsonType, o.Output)}},
		Extensions:  map[string]any{"x-access": o.Access, "x-destructive": o.Destructive, "x-idempotent": o.Idempotent},
	}
	for _, status := range failures {
		described.Responses[strconv.Itoa(status)] = &huma.Response{Ref: problemRef}
	}
	if o.Destructive {
		dry := document.Components.Schemas.Schema(reflect.TypeFor[dryRunAnswer](), true, "DryRunAnswer")
		described.Responses["200"] = &huma.Response{
			Description: "What it answers, or without Confirm what it would do",
			Content:     content(jsonType, &huma.Schema{OneOf: []*huma.Schema{o.Output, dry}}),
		}
		described.Parameters = []*huma.Param{{
			Name: "Confirm", In: "header", Description: "The token of the dry run of the same input", Schema: &huma.Schema{Type: huma.TypeString},
		}}
	}
	return described
}

func content(mediaType string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: schema}}
}
