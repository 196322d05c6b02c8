import assert from "node:assert/strict";
import { test } from "node:test";
import { relyingParty } from "./relying-party.ts";

const localhost = (port: number) => ({ id: "localhost", origin: `http://localhost:${port}` });

const cases: [publicUrl: string | undefined, host: string | undefined, expected: unknown][] = [
  [undefined, "localhost:8825", localhost(8825)],
  [undefined, "127.0.0.1:8825", localhost(8825)],
  [undefined, "[::1]:8825", localhost(8825)],
  [undefined, "localhost", { id: "localhost", origin: "http://localhost" }],
  [undefined, "192.0.2.1:8825", undefined],
  [undefined, "[2001:db8::1]:8825", undefined],
  [undefined, "evil.example", undefined],
  [undefined, undefined, undefined],
  [undefined, "", undefined],
  ["https://mail.example.com", "evil.example", { id: "mail.example.com", origin: "https://mail.example.com" }],
  ["https://mail.example.com:8443/", "x", { id: "mail.example.com", origin: "https://mail.example.com:8443" }],
  ["http://mail.example.com", "mail.example.com", undefined],
  ["https://192.0.2.1", "192.0.2.1", undefined],
  ["http://127.0.0.1:9000", "x", localhost(9000)],
];

for (const [publicUrl, host, expected] of cases)
  test(`with the public URL ${publicUrl} and the host ${host}`, () => {
    assert.deepEqual(relyingParty(publicUrl, host), expected);
  });
