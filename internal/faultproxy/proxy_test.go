package faultproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

func TestMain(m *testing.M) { testdb.Run(m, nil) }

func through(t *testing.T) (*faultproxy.Proxy, *pgx.Conn) {
	t.Helper()
	proxy, address := faultproxy.ForURL(t, testdb.EmptyURL(t))
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return proxy, conn
}

func TestProxyPassesQueriesOn(t *testing.T) {
	t.Parallel()
	_, conn := through(t)
	var length int
	if err := conn.QueryRow(t.Context(), "select length(repeat('x', 10000000))").Scan(&length); err != nil || length != 10000000 {
		t.Errorf("length = %d, error = %v", length, err)
	}
}

func TestCutEndsConnectionsAndAllowsNewOnes(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	proxy.Cut()
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the connection still works")
	}
	proxy.Refuse()
	if again, err := pgx.ConnectConfig(t.Context(), conn.Config()); err == nil {
		_ = again.Close(t.Context())
		t.Error("a connection was not refused")
	}
	proxy.Heal()
	again, err := pgx.ConnectConfig(t.Context(), conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBlackHoleSaysNothing(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	proxy.BlackHole()
	answered := make(chan error, 1)
	go func() { answered <- conn.Ping(t.Context()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if again, err := pgx.ConnectConfig(ctx, conn.Config()); err == nil {
		_ = again.Close(t.Context())
		t.Error("a connection was made through the black hole")
	}
	select {
	case err := <-answered:
		t.Errorf("the ping was answered: %v", err)
	default:
	}
	proxy.Heal()
	if err := <-answered; err != nil {
		t.Errorf("the ping after Heal: %v", err)
	}
}

func TestStrandLeavesNewConnectionsAlone(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	proxy.Strand()
	again, err := pgx.ConnectConfig(t.Context(), conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := conn.Ping(ctx); err == nil {
		t.Error("the stranded connection still works")
	}
}

func TestDropNotifications(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	if _, err := conn.Exec(t.Context(), "listen here"); err != nil {
		t.Fatal(err)
	}
	proxy.DropNotifications(true)
	if _, err := conn.Exec(t.Context(), "notify here, 'dropped'"); err != nil {
		t.Fatal(err)
	}
	proxy.DropNotifications(false)
	if _, err := conn.Exec(t.Context(), "notify here, 'passed'"); err != nil {
		t.Fatal(err)
	}
	n, err := conn.WaitForNotification(t.Context())
	if err != nil || n.Payload != "passed" {
		t.Errorf("notification = %v, error = %v, want passed", n, err)
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	if got := proxy.Connections(); got != 1 {
		t.Errorf("connections = %d, want 1", got)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wait.Eventually(t, 10*time.Second, func() (bool, string) { return proxy.Connections() == 0, "the link is still there" })
}

// After a half-close the client reads the end, and what it wrote has arrived all the same.
func TestHalfCloseLosesTheAnswerAndNotTheQuestion(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	if _, err := conn.Exec(t.Context(), "create table marks ()"); err != nil {
		t.Fatal(err)
	}
	proxy.Delay(200 * time.Millisecond) // the statement is under way when the direction back ends
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "insert into marks default values")
		failed <- err
	}()
	wait.Eventually(t, 10*time.Second, func() (bool, string) { return proxy.HoldsBack() || len(failed) > 0, "nothing was sent" })
	proxy.HalfClose()
	if err := <-failed; err == nil {
		t.Error("the statement was answered")
	}
	proxy.Heal()
	again, err := pgx.ConnectConfig(t.Context(), conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close(context.Background()) }()
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		var n int
		err := again.QueryRow(t.Context(), "select count(*) from marks").Scan(&n)
		return n == 1 && err == nil, "the statement did not arrive"
	})
}

// Delay and Drip only cost time, and Heal ends them.
func TestDelayAndDripCostTime(t *testing.T) {
	t.Parallel()
	proxy, conn := through(t)
	ask := func() time.Duration {
		t.Helper()
		began := time.Now()
		var length int
		if err := conn.QueryRow(t.Context(), "select length(repeat('x', 1000) || pg_sleep(0)::text)").Scan(&length); err != nil || length != 1000 {
			t.Errorf("length = %d, error = %v", length, err)
		}
		return time.Since(began)
	}
	proxy.Delay(50 * time.Millisecond)
	if took := ask(); took < 100*time.Millisecond { // there and back
		t.Errorf("with a delay it took %s", took)
	}
	proxy.Heal()
	proxy.Drip(1000)
	if took := ask(); took < 100*time.Millisecond { // over 100 bytes each way
		t.Errorf("dripping it took %s", took)
	}
	proxy.Heal()
	ask()
}
