import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "./config.ts";

test("without settings everything has its default", () => {
  const { http, delivery } = readConfig({});
  assert.deepEqual([http, delivery], [{ host: "127.0.0.1", port: 8825 }, "capture"]);
});

test("every mistake is told at once, by name, with how to write it", () => {
  const wrong = {
    POSTHORN_HTTP: "8825",
    POSTHORN_RETRY_SCHEDULE_MS: "soon",
    POSTHORN_ALLOW_PRIVATE_MX: "10.0.0.0",
    POSTHORN_RETRY_SCHEDULE: "1000",
    DATABASE_URL: "mysql://there",
  };
  assert.throws(
    () => readConfig(wrong),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      const told = error.problems.join("\n");
      assert.match(told, /POSTHORN_HTTP: "8825" is not host:port; write for example/);
      assert.match(told, /POSTHORN_RETRY_SCHEDULE_MS: must be a comma list of milliseconds/);
      assert.match(told, /POSTHORN_ALLOW_PRIVATE_MX: "10\.0\.0\.0" is not a CIDR range/);
      assert.match(told, /POSTHORN_RETRY_SCHEDULE is no setting.*did you mean POSTHORN_RETRY_SCHEDULE_MS/);
      assert.match(told, /DATABASE_URL: must be a URL starting with postgres:/);
      return true;
    },
  );
});

test("a role that does not exist is named beside those that do", () => {
  assert.throws(() => readConfig({ POSTHORN_ROLES: "api,cooking" }), /POSTHORN_ROLES: "cooking" is none of all, api/);
});

test("the operations port is on loopback, and beyond it only with a token", () => {
  assert.deepEqual(readConfig({}).ops, { host: "127.0.0.1", port: 8826, chosen: false });
  assert.deepEqual(readConfig({ POSTHORN_OPS: "[::1]:0" }).ops, { host: "::1", port: 0, chosen: true });
  assert.equal(readConfig({ POSTHORN_HTTP: "127.0.0.1:8826" }).ops.port, 0, "a listener that has the port keeps it");
  const POSTHORN_OPS = "0.0.0.0:8826";
  assert.throws(
    () => readConfig({ POSTHORN_OPS }),
    /POSTHORN_OPS: an address beyond loopback needs POSTHORN_METRICS_TOKEN/,
  );
  assert.equal(readConfig({ POSTHORN_OPS, POSTHORN_METRICS_TOKEN: "0123456789abcdef" }).ops.host, "0.0.0.0");
});
