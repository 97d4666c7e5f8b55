module github.com/postbus/postbus

go 1.26.0

require (
	github.com/danielgtaylor/huma/v2 v2.0.0
	github.com/jackc/pgx/v5 v5.0.0
	github.com/riverqueue/river v0.0.0
)

replace (
	github.com/danielgtaylor/huma/v2 => ./fakes/huma
	github.com/jackc/pgx/v5 => ./fakes/pgx
	github.com/riverqueue/river => ./fakes/river
)
