import assert from "node:assert/strict";
import { test } from "node:test";
import { dkimFindings } from "./dkim.ts";

test("doctor names the primes of new keys, and the domains whose keys have others", () => {
  const found = (inUse: { primes: number; domains: number }[]) => dkimFindings({ primes: 2, fips: false, inUse });
  assert.deepEqual(found([{ primes: 2, domains: 4 }]), [
    { check: "DKIM", result: "ok", found: "new keys have 2 primes (POSTHORN_DKIM_PRIMES)" },
  ]);
  assert.match(
    found([
      { primes: 2, domains: 4 },
      { primes: 3, domains: 1 },
    ])[0]!.found,
    /; the keys of 1 domain with 3 primes keep signing until a rotation replaces them$/,
  );
});

test("in FIPS mode, keys with three primes are a failure with a fix", () => {
  const [finding] = dkimFindings({ primes: 2, fips: true, inUse: [{ primes: 3, domains: 2 }] });
  assert.equal(finding!.result, "fail");
  assert.match(finding!.found, /FIPS mode, which does not allow the keys of 2 domains with 3 primes/);
  assert.match(finding!.fix!, /posthorn domains rotate DOMAIN/);
  assert.equal(dkimFindings({ primes: 2, fips: true, inUse: [{ primes: 2, domains: 2 }] })[0]!.result, "ok");
});
