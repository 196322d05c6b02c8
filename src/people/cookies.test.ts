import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { cookieValue, readSessionToken, sessionCookie, signToken } from "./cookies.ts";

const name = "posthorn.session_token";
const token = "aB3".repeat(11).slice(0, 32);
const sign = (text: string, secret = "secret") => createHmac("sha256", secret).update(text).digest("base64");
const signed = encodeURIComponent(`${token}.${sign(token)}`);

describe("the session cookie", () => {
  it("yields its token if the signature is valid", () => {
    assert.equal(readSessionToken(`a=b; ${name}=${signed}; c=d`, name, ["secret"]), token);
    assert.equal(readSessionToken(`${name}=${token}.${sign(token)}`, name, ["secret"]), token, "not encoded");
  });

  const broken: Record<string, string | undefined> = {
    "no cookies": undefined,
    "no cookie of this name": `x${name}=${signed}`,
    "no signature": `${name}=${token}`,
    "an empty signature": `${name}=${token}.`,
    "another secret": `${name}=${encodeURIComponent(`${token}.${sign(token, "other")}`)}`,
    "the signature of another token": `${name}=${encodeURIComponent(`${token}.${sign(`${token}x`)}`)}`,
    "a token that is too short": `${name}=${encodeURIComponent(`abc.${sign("abc")}`)}`,
    "half an encoded character": `${name}=%E0%A4%A`,
    "a planted cookie before the valid one": `${name}=planted; ${name}=${signed}`,
  };
  for (const [what, cookies] of Object.entries(broken))
    it(`yields no token with ${what}`, () => assert.equal(readSessionToken(cookies, name, ["secret"]), undefined));

  it("is valid with the signature of either secret, while the secret is being replaced", () => {
    for (const secrets of [
      ["secret", "new"],
      ["new", "secret"],
    ])
      assert.equal(readSessionToken(`${name}=${signed}`, name, secrets), token);
    assert.equal(readSessionToken(`${name}=${signed}`, name, ["new"]), undefined);
    assert.equal(readSessionToken(sessionCookie(signToken(token, "new"), name, 60), name, ["new"]), token);
  });

  it("is parsed according to RFC 6265", () => {
    assert.equal(cookieValue("a=1;b=2 ; c = x=y", "b"), "2");
    assert.equal(cookieValue("a=1;b=2 ; c = x=y", "c"), "x=y");
    assert.equal(cookieValue("a; =; ;;", "a"), undefined);
  });
});
