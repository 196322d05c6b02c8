import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatHost, InvalidDatabaseUrl, readDatabaseUrl } from "./database-url.ts";

const hostsOf = (text: string) => readDatabaseUrl(text).hosts.map(formatHost);

describe("DATABASE_URL", () => {
  for (const [text, hosts] of [
    ["postgres://u:p@db/posthorn", ["db:5432"]],
    ["postgresql://u:p@db:6000/posthorn?sslmode=require", ["db:6000"]],
    ["postgres://u:p@%2Frun%2Fpostgresql/posthorn", ["%2Frun%2Fpostgresql:5432"]],
    ["postgres://u:p@h1:5433,h2,h3:5434/posthorn", ["h1:5433", "h2:5432", "h3:5434"]],
    ["postgres://h1,h2/posthorn", ["h1:5432", "h2:5432"]],
    ["postgres://u@[::1]:5433,[fd00::2],192.0.2.1/posthorn", ["[::1]:5433", "[fd00::2]:5432", "192.0.2.1:5432"]],
    ["postgres://u:p@%2Frun%2Fa,%2Frun%2Fb:5433/posthorn", ["%2Frun%2Fa:5432", "%2Frun%2Fb:5433"]],
    ["postgres:///posthorn?host=h1,h2&port=5433&user=u", ["h1:5433", "h2:5433"]],
    ["postgres:///posthorn?host=h1,h2,h3&port=5433,,5434", ["h1:5433", "h2:5432", "h3:5434"]],
    ["postgres://h1,h1:5432,h2/posthorn", ["h1:5432", "h2:5432"]],
  ] as const)
    test(`${text} names ${hosts.join(" and ")}`, () => assert.deepEqual(hostsOf(text), hosts));

  test("with several hosts, the other parts are those of a URL with the first one", () => {
    const { config } = readDatabaseUrl(
      "postgres://u:p%40%2C@h1:1,h2:2/mail?sslmode=verify-full&target_session_attrs=read-write&application_name=n",
    );
    assert.equal(config.connectionString, "postgres://u:p%40%2C@h1:1/mail?sslmode=verify-full&application_name=n");
  });

  test("with sockets, the login is passed apart from the host", () => {
    const { config } = readDatabaseUrl("postgres://u:p%2F@%2Frun%2Fa,%2Frun%2Fb/mail");
    assert.deepEqual(config, { host: "/run/a", port: 5432, user: "u", password: "p/", database: "mail" });
  });

  for (const [text, message] of [
    ["mysql://h/db", /^must be a URL starting with postgres:\/\/ or postgresql:\/\/; write for example/],
    ["db.example.com", /^must be a URL starting with/],
    ["postgres://u:hidden@h1,,h2/db", /^has an empty name in its list of hosts; write for example/],
    ["postgres://u:hidden@h1,h2:x/db", /^names the host "h2:x", which is not host:port/],
    ["postgres://u:hidden@h1,h2:70000/db", /^names the host "h2:70000"/],
    ["postgres://u:hidden@h1,h2:0/db", /^names the port "0", which is not a number from 1 to 65535/],
    ["postgres://u:hidden@::1,h2/db", /^names the host "::1".+an IPv6 address in brackets$/],
    ["postgres:///db?host=h1,h2,h3&port=1,2&password=hidden", /^names 3 hosts and 2 ports: name one port/],
    [
      "postgres://u:hidden@h1,h2/db?target_session_attrs=standby",
      /^has target_session_attrs=standby, but Posthorn writes/,
    ],
    ["postgres://u:hidden@h1,u:hidden@h2/db", /^names user and password more than once/],
    ["postgres://us,er:hid/den@h1,h2/db", /^has a \/ in the user name or password: write %2F/],
  ] as const)
    test(`${text} is refused with a fix and without the password`, () =>
      assert.throws(
        () => readDatabaseUrl(text),
        (error) => error instanceof InvalidDatabaseUrl && message.test(error.message) && !/hid/.test(error.message),
      ));
});
