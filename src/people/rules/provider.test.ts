import assert from "node:assert/strict";
import { test } from "node:test";
import { claimAt, isAllowedDomain, isVerified, localPath, mergeClaims, nameFrom, roleOfClaims } from "./provider.ts";

const roles = [
  { value: "admins", role: "owner" as const },
  { value: "devs", role: "developer" as const },
  { value: "all", role: "viewer" as const },
];

test("the highest role of a claim counts, and an unknown value gives none", () => {
  const roleOf = (groups: unknown, roleClaim = "groups") => roleOfClaims({ groups }, { roleClaim, roles });
  assert.equal(roleOf(["all", "admins", "devs"]), "owner");
  assert.equal(roleOf(["other", "devs"]), "developer");
  assert.equal(roleOf("all"), "viewer");
  for (const none of [undefined, null, [], "", "Admins", ["admins "], { admins: true }, 7, [["admins"]]])
    assert.equal(roleOf(none), undefined, JSON.stringify(none));
  assert.equal(roleOf("admins", "other"), undefined);
  assert.equal(roleOfClaims({ groups: "admins" }, { roleClaim: undefined, roles }), undefined);
});

test("dots lead into objects, unless the claim itself has dots in its name", () => {
  assert.deepEqual(claimAt({ realm_access: { roles: ["a"] } }, "realm_access.roles"), ["a"]);
  assert.equal(claimAt({ "https://x.example/roles": "a", https: {} }, "https://x.example/roles"), "a");
  for (const path of ["a.b", "a.constructor", "constructor", "a.b.c", "", "."])
    assert.equal(claimAt({ a: "text" }, path), undefined, path);
});

test("only a clear yes verifies an address", () => {
  for (const yes of [true, "true", 1, "1"]) assert.equal(isVerified({ v: yes }, "v"), true, String(yes));
  for (const no of [false, "false", 0, "0", "yes", null, undefined, [true], {}, "TRUE"])
    assert.equal(isVerified({ v: no }, "v"), false, JSON.stringify(no));
  assert.equal(isVerified({ xms_edov: 1, email_verified: false }, "xms_edov"), false, "the provider denies it");
  assert.equal(isVerified({ xms_edov: 1 }, "xms_edov"), true);
});

test("a verified address counts only in the answer that contains it", () => {
  const merge = (idToken: object, userInfo: object) => mergeClaims({ ...idToken }, { ...userInfo }, "email_verified");
  const b = { email: "b@x.example", email_verified: true };
  assert.deepEqual(merge({ sub: "1" }, b), { sub: "1", ...b });
  assert.equal(merge({ email: "a@x.example" }, b).email_verified, undefined);
  assert.equal(merge({ email: "b@x.example" }, b).email_verified, true);
  assert.equal(merge({ email: "b@x.example", email_verified: false }, b).email_verified, false);
  assert.equal(merge({ email_verified: true }, { email: "b@x.example" }).email_verified, undefined);
});

test("a domain is allowed as a whole, not by its end", () => {
  const domains = ["corp.example"];
  assert.equal(isAllowedDomain("ann@corp.example", domains), true);
  for (const email of ["a@sub.corp.example", "a@notcorp.example", "a@corp.example.evil.example", "corp.example"])
    assert.equal(isAllowedDomain(email, ["corp.example"].slice(email === "corp.example" ? 1 : 0)), false, email);
  assert.equal(isAllowedDomain("ann@corp.example", []), false);
});

test("a name of the provider is cleaned and cut, and an empty one is the local part of the address", () => {
  const nameOf = (name: unknown) => nameFrom({ name }, "ann@corp.example");
  assert.equal(nameOf(" Ann\u202e\u0007  Example\n"), "Ann Example");
  assert.equal([...nameOf("😀".repeat(300))].length, 100);
  assert.ok(nameOf("x\ud800").isWellFormed());
  for (const none of [undefined, "", " \n", 7, { toString: "x" }]) assert.equal(nameOf(none), "ann");
});

test("a page to return to is a path of this service", () => {
  for (const path of ["/", "/emails?q=a%20b", "/emails/em_1#x", "/a/../queue"])
    assert.match(localPath(path), /^\/(?!\/)/);
  assert.equal(localPath("/a/../queue?x=1#y"), "/queue?x=1#y");
  const others = [
    "",
    "x",
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "/..//evil.example",
    "/.//evil.example",
  ];
  for (const path of [
    ...others,
    "/\t/evil.example",
    "/a\nb",
    "javascript:alert(1)",
    "/auth/oidc/callback?x",
    `/${"a".repeat(600)}`,
  ])
    assert.equal(localPath(path), "/", path);
});
