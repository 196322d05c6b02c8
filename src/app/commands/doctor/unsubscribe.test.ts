import assert from "node:assert/strict";
import { test } from "node:test";
import { unsubscribeChecks } from "./unsubscribe.ts";

const answer =
  (status: number, headers: Record<string, string> = {}) =>
  async () => ({
    status,
    headers: new Headers(headers),
  });
const ours = answer(404, { "x-robots-tag": "noindex, nofollow" });

async function findingOf(publicUrl: string | undefined, ask: Parameters<typeof unsubscribeChecks>[1]): Promise<string> {
  const [finding] = await unsubscribeChecks({ publicUrl, delivery: "direct" }, ask);
  return `${finding!.result}: ${finding!.found}`;
}

test("without a public https address, emails with a link are refused", async () => {
  assert.match(await findingOf(undefined, ours), /^warn: .*refused: POSTHORN_PUBLIC_URL is not set/);
  assert.match(await findingOf("http://mail.example.com", ours), /^warn: .*is http:\/\/mail\.example\.com/);
  for (const host of ["localhost", "127.0.0.1", "[::1]"])
    assert.match(await findingOf(`https://${host}`, ours), /^warn: .*refused: POSTHORN_PUBLIC_URL is https/, host);
});

test("an address that mail programs cannot reach is reported", async () => {
  for (const host of ["10.0.0.1", "mail.posthorn.test"])
    assert.match(await findingOf(`https://${host}`, ours), /^warn: mail programs cannot reach/, host);
});

test("captured mail is read on this machine, so any host will do", async () => {
  const [finding] = await unsubscribeChecks({ publicUrl: "https://mail.example.com", delivery: "capture" }, ours);
  assert.equal(finding!.result, "ok");
});

test("the address has to answer as Posthorn", async () => {
  assert.match(await findingOf("https://mail.posthorn.dev", ours), /^ok: .*\/unsubscribe\/, and Posthorn answers/);
  assert.match(await findingOf("https://mail.posthorn.dev", answer(404)), /^warn: .*status 404, and not as Posthorn/);
  assert.match(await findingOf("https://mail.posthorn.dev", answer(302)), /^warn: .*status 302/);
  const away = async () => {
    throw new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND") });
  };
  assert.match(await findingOf("https://mail.posthorn.dev", away), /^warn: .*from here: getaddrinfo ENOTFOUND/);
});
