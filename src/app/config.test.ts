import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, primesOf, readConfig } from "./config.ts";

test("every setting has its default when none is set", () => {
  const { http, delivery } = readConfig({});
  assert.deepEqual([http, delivery], [{ host: "127.0.0.1", port: 8825 }, "capture"]);
});

test("all mistakes are reported at once, each with the setting's name and an example", () => {
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
      const message = error.problems.join("\n");
      assert.match(message, /POSTHORN_HTTP: "8825" is not host:port; write for example/);
      assert.match(message, /POSTHORN_RETRY_SCHEDULE_MS: must be a comma list of milliseconds/);
      assert.match(message, /POSTHORN_ALLOW_PRIVATE_MX: "10\.0\.0\.0" is not a CIDR range/);
      assert.match(
        message,
        /POSTHORN_RETRY_SCHEDULE is not a Posthorn setting.*did you mean POSTHORN_RETRY_SCHEDULE_MS/,
      );
      assert.match(message, /DATABASE_URL: must be a URL starting with postgres:/);
      return true;
    },
  );
});

test("the error for an unknown role lists the known ones", () => {
  assert.throws(
    () => readConfig({ POSTHORN_ROLES: "api,cooking" }),
    /POSTHORN_ROLES: "cooking" is not one of: all, api/,
  );
});

test("the public URL is in ASCII, and paths can be appended to it", () => {
  const read = (POSTHORN_PUBLIC_URL: string) => readConfig({ POSTHORN_PUBLIC_URL }).publicUrl;
  assert.equal(read("https://mail.example.com"), "https://mail.example.com");
  assert.equal(read("HTTPS://Mail.Example.com:443//"), "https://mail.example.com");
  assert.equal(read("https://bücher.example/päth/"), "https://xn--bcher-kva.example/p%C3%A4th");
  for (const text of ["https://mail.example.com/?a=1", "https://mail.example.com?", "https://mail.example.com/#top"])
    assert.throws(() => read(text), /POSTHORN_PUBLIC_URL: must not have a query \(\?\) or a fragment/, text);
  const isSilent = ({ message }: Error) => /must not have a user name/.test(message) && !message.includes("opensesame");
  assert.throws(() => read("https://ada:opensesame@mail.example.com"), isSilent);
});

test("the operations port is on loopback by default, and needs a token on any other address", () => {
  assert.deepEqual(readConfig({}).ops, { host: "127.0.0.1", port: 8826, chosen: false });
  assert.deepEqual(readConfig({ POSTHORN_OPS: "[::1]:0" }).ops, { host: "::1", port: 0, chosen: true });
  assert.equal(readConfig({ POSTHORN_HTTP: "127.0.0.1:8826" }).ops.port, 0, "another listener keeps the port");
  const POSTHORN_OPS = "0.0.0.0:8826";
  assert.throws(
    () => readConfig({ POSTHORN_OPS }),
    /POSTHORN_OPS: an address outside loopback needs POSTHORN_METRICS_TOKEN/,
  );
  assert.equal(readConfig({ POSTHORN_OPS, POSTHORN_METRICS_TOKEN: "0123456789abcdef" }).ops.host, "0.0.0.0");
});

test("in FIPS mode new DKIM keys have two primes, and three are refused with the fix", () => {
  const problems: string[] = [];
  assert.equal(primesOf(undefined, problems, true), 2);
  assert.equal(primesOf("2", problems, true), 2);
  assert.equal(primesOf("3", problems, false), 3);
  assert.deepEqual(problems, []);
  primesOf("3", problems, true);
  assert.match(problems.join(), /^POSTHORN_DKIM_PRIMES: OpenSSL runs in FIPS mode, which allows only 2; set it to 2/);
  assert.equal(readConfig({ POSTHORN_DKIM_PRIMES: "3" }).dkimPrimes, 3);
  assert.throws(() => readConfig({ POSTHORN_DKIM_PRIMES: "4" }), /POSTHORN_DKIM_PRIMES: "4" is not one of: 2, 3/);
});

test("blocklists are of addresses or of domains, and a spam filter has a protocol", () => {
  const { blocklists, spamFilter } = readConfig({});
  assert.deepEqual(blocklists.domains, ["dbl.spamhaus.org"]);
  assert.equal(blocklists.addresses.length, 3);
  assert.equal(spamFilter, undefined);
  assert.deepEqual(readConfig({ POSTHORN_BLOCKLISTS: "off" }).blocklists, { addresses: [], domains: [] });
  const filterOf = (text: string) => readConfig({ POSTHORN_SPAM_CHECK: text }).spamFilter;
  assert.deepEqual(filterOf("spamd:127.0.0.1:783"), { kind: "spamd", host: "127.0.0.1", port: 783 });
  assert.deepEqual(filterOf("rspamd:http://[::1]:11333/"), { kind: "rspamd", url: "http://[::1]:11333" });
  for (const wrong of [
    "127.0.0.1:783",
    "rspamd:127.0.0.1",
    "spamd:here",
    "rspamd:ftp://a.test",
    "rspamd:http://a.test/?x",
  ])
    assert.throws(() => filterOf(wrong), /POSTHORN_SPAM_CHECK/, wrong);
  assert.throws(() => readConfig({ POSTHORN_BLOCKLISTS: "zen" }), /POSTHORN_BLOCKLISTS: "zen" is not a host name/);
});
