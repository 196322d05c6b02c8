import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConfigError, readConfig } from "./config.ts";

const google = {
  POSTHORN_OIDC: "google",
  POSTHORN_OIDC_GOOGLE_ISSUER: "https://accounts.google.com",
  POSTHORN_OIDC_GOOGLE_CLIENT_ID: "id",
};

function problemsOf(env: Record<string, string>): string {
  let found = "";
  assert.throws(
    () => readConfig(env),
    (error: ConfigError) => {
      found = error.problems.join("\n");
      return true;
    },
  );
  return found;
}

test("several providers are read, each with its defaults", () => {
  assert.deepEqual(readConfig({}).providers, []);
  const { providers, passwordSignIn } = readConfig({
    ...google,
    POSTHORN_OIDC: "google, okta",
    POSTHORN_OIDC_OKTA_ISSUER: "https://corp.okta.example/oauth2/default",
    POSTHORN_OIDC_OKTA_CLIENT_ID: "o",
    POSTHORN_OIDC_OKTA_CLIENT_SECRET: "s",
    POSTHORN_OIDC_OKTA_LABEL: "Corp login",
    POSTHORN_OIDC_OKTA_DOMAINS: "Corp.example,corp.test",
    POSTHORN_OIDC_OKTA_WORKSPACE: "default",
    POSTHORN_OIDC_OKTA_ROLE_CLAIM: "groups",
    POSTHORN_OIDC_OKTA_ROLES: "cn=admins=owner, devs=developer",
  });
  assert.equal(passwordSignIn, true);
  assert.deepEqual(
    providers.map(({ name, label, clientSecret, role, scopes }) => [name, label, clientSecret, role, scopes]),
    [
      ["google", "google", undefined, "viewer", "openid email profile"],
      ["okta", "Corp login", "s", "viewer", "openid email profile"],
    ],
  );
  assert.deepEqual(providers[1]!.domains, ["corp.example", "corp.test"]);
  assert.deepEqual(providers[1]!.roles, [
    { value: "cn=admins", role: "owner" },
    { value: "devs", role: "developer" },
  ]);
});

test("missing settings are named", () => {
  const found = problemsOf({ POSTHORN_OIDC: "google,okta", POSTHORN_OIDC_GOOGLE_DOMAINS: "corp.example" });
  for (const name of ["GOOGLE_ISSUER", "GOOGLE_CLIENT_ID", "GOOGLE_WORKSPACE", "OKTA_ISSUER", "OKTA_CLIENT_ID"])
    assert.match(found, new RegExp(`POSTHORN_OIDC_${name}: is required`));
  assert.match(problemsOf({ ...google, POSTHORN_OIDC_GOOGLE_ROLE_CLAIM: "groups" }), /GOOGLE_ROLES: is required with/);
  assert.match(problemsOf({ ...google, POSTHORN_OIDC_GOOGLE_ROLES: "a=owner" }), /GOOGLE_ROLE_CLAIM: is required with/);
});

test("unknown and misspelled settings are named", () => {
  assert.match(
    problemsOf({ ...google, POSTHORN_OIDC_GOGLE_LABEL: "x" }),
    /POSTHORN_OIDC_GOGLE_LABEL is not a setting of a provider that POSTHORN_OIDC names \(google\)/,
  );
  assert.match(
    problemsOf({ ...google, POSTHORN_OIDC_GOOGLE_DOMAIN: "x.example" }),
    /POSTHORN_OIDC_GOOGLE_DOMAIN is not a Posthorn setting; a provider has _ISSUER, .*_DOMAINS/,
  );
  assert.match(problemsOf({ POSTHORN_OIDC_GOOGLE_ISSUER: "https://x.example" }), /it names none/);
});

test("an issuer is https, except on this machine, and never one that all customers of Microsoft share", () => {
  const issuer = (value: string) => ({ ...google, POSTHORN_OIDC_GOOGLE_ISSUER: value });
  for (const value of [
    "http://127.0.0.1:3000",
    "http://localhost:3000/realms/a",
    "http://[::1]:3000",
    "https://x.example/a",
  ])
    assert.equal(readConfig(issuer(value)).providers[0]!.issuer, value);
  for (const value of [
    "http://x.example",
    "http://127.0.0.1.x.example",
    "ftp://x.example",
    "x.example",
    "http://10.0.0.1",
  ])
    assert.match(problemsOf(issuer(value)), /POSTHORN_OIDC_GOOGLE_ISSUER: must/, value);
  assert.match(problemsOf(issuer("https://x.example/.well-known/openid-configuration")), /must be the issuer itself/);
  assert.match(problemsOf(issuer("https://x.example/?a=b")), /must be the issuer itself/);
  assert.match(problemsOf(issuer("https://login.microsoftonline.com/common/v2.0")), /your own tenant/);
});

test("other values are checked, and no message contains a secret", () => {
  const with_ = (end: string, value: string) => problemsOf({ ...google, [`POSTHORN_OIDC_GOOGLE_${end}`]: value });
  assert.match(with_("ROLES", "admins=king"), /GOOGLE_ROLES: "admins=king" is not VALUE=ROLE/);
  assert.match(with_("ROLE", "king"), /GOOGLE_ROLE: "king" is not one of/);
  assert.match(with_("SCOPES", "email"), /GOOGLE_SCOPES: must contain openid/);
  assert.match(with_("DOMAINS", "corp"), /GOOGLE_DOMAINS: "corp" is not a host name/);
  assert.match(with_("SECOND_FACTOR", "yes"), /GOOGLE_SECOND_FACTOR: "yes" is not one of: own, trusted/);
  assert.match(with_("AUTH_TIME", "no"), /GOOGLE_AUTH_TIME: "no" is not one of: discovered, never/);
  assert.match(problemsOf({ POSTHORN_OIDC: "Google" }), /POSTHORN_OIDC: "Google" is not a name in lower-case letters/);
  const secret = "very secret value";
  assert.ok(!problemsOf({ POSTHORN_OIDC: "x", POSTHORN_OIDC_X_CLIENT_SECRET: secret }).includes(secret));
});

test("passwords can be off only with a provider", () => {
  assert.match(problemsOf({ POSTHORN_PASSWORD_SIGN_IN: "off" }), /POSTHORN_PASSWORD_SIGN_IN: off needs a provider/);
  assert.equal(readConfig({ ...google, POSTHORN_PASSWORD_SIGN_IN: "off" }).passwordSignIn, false);
});
