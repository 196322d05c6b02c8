import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { behindProxies, clientAddress, clientSite, exactAddress } from "./client-address.ts";
import type { Request } from "./server.ts";

const request = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as Request;

describe("the client's address", () => {
  it("is the address of the peer, unless the peer is a trusted proxy", () => {
    assert.equal(behindProxies("203.0.113.1", "10.0.0.1", []), "203.0.113.1");
    assert.equal(behindProxies("203.0.113.1", "10.0.0.1", ["127.0.0.0/8"]), "203.0.113.1");
    assert.equal(behindProxies("127.0.0.1", "203.0.113.1", ["127.0.0.0/8"]), "203.0.113.1");
    assert.equal(behindProxies("::ffff:127.0.0.1", "203.0.113.1", ["127.0.0.0/8"]), "203.0.113.1");
  });

  it("is the last address in X-Forwarded-For that is not a trusted proxy", () => {
    const trusted = ["127.0.0.0/8", "10.0.0.0/8"];
    assert.equal(behindProxies("127.0.0.1", "1.1.1.1, 203.0.113.1, 10.0.0.2", trusted), "203.0.113.1");
    assert.equal(behindProxies("127.0.0.1", "1.1.1.1, nonsense, 10.0.0.2", trusted), "10.0.0.2");
    assert.equal(behindProxies("127.0.0.1", "", trusted), "127.0.0.1");
  });

  it("is found in entries with a port", () => {
    const trusted = ["127.0.0.0/8", "2001:db8:1::/48"];
    assert.equal(behindProxies("127.0.0.1", "192.0.2.1, 203.0.113.1:5678", trusted), "203.0.113.1");
    assert.equal(behindProxies("127.0.0.1", "[2001:db8::1]:443", trusted), "2001:db8::1");
    assert.equal(behindProxies("127.0.0.1", "[2001:db8::1], [2001:db8:1::2]:80", trusted), "2001:db8::1");
    assert.equal(behindProxies("127.0.0.1", "2001:db8::1:443", trusted), "2001:db8::1:443");
  });

  it("is the /64 network for IPv6", () => {
    assert.equal(clientAddress(request("2001:db8:1:2:3:4:5:6"), []), "2001:db8:1:2::/64");
    assert.equal(clientAddress(request("::ffff:192.0.2.1"), []), "192.0.2.1");
  });

  it("is exact for limits of keys: without a port or a zone, and IPv4 in its own form", () => {
    const trusted = ["127.0.0.0/8"];
    const exact = (peer: string, forwarded?: string) =>
      exactAddress(request(peer, forwarded === undefined ? {} : { "x-forwarded-for": forwarded }), trusted);
    assert.equal(exact("::ffff:192.0.2.1"), "192.0.2.1");
    assert.equal(exact("fe80::1%eth0"), "fe80::1");
    assert.equal(exact("127.0.0.1", "2001:DB8:0::7"), "2001:db8::7");
    assert.equal(exact("127.0.0.1", "198.51.100.1, [2001:db8::9]:443"), "2001:db8::9");
    assert.equal(exact("192.0.2.1", "198.51.100.1"), "192.0.2.1", "not a trusted proxy");
    assert.equal(exact(""), "", "a connection without an address");
  });

  it("has a /56 network for turns", () => {
    const forwarded = { "x-forwarded-for": "2001:db8:1:2ff::1" };
    assert.equal(clientSite(request("127.0.0.1", forwarded), ["127.0.0.0/8"]), "2001:db8:1:200::/56");
    assert.equal(clientSite(request("192.0.2.1", forwarded), ["127.0.0.0/8"]), "192.0.2.1");
  });
});
