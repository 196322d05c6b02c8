import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { createSecrets } from "../postgres/sealing.ts";
import { createAttempt, signHeaders, signingKey } from "./attempt.ts";
import type { PostRequest } from "./post.ts";
import { makeSigningSecret, secretContext } from "./store/webhooks.ts";

const id = "evt_01938a52-1f33-7d48-9b10-a4c6e8f02d75";
const body = JSON.stringify({ id, type: "email.replied", replied: { body: "Grüße, 你好 🙂 \u2028" } });

/** The libraries that receivers are likely to use. Each throws on an invalid signature. */
const verifiers = [StandardWebhook, SvixWebhook];

test("both libraries accept a signature with one secret", () => {
  const secret = makeSigningSecret();
  const headers = signHeaders({ id, body, nowMs: Date.now(), keys: [signingKey(secret)] });
  assert.match(headers["webhook-signature"], /^v1,[A-Za-z0-9+/]{43}=$/);
  assert.equal(headers["webhook-id"], id);
  for (const Verifier of verifiers) new Verifier(secret).verify(body, { ...headers });
});

test("with two valid secrets, a receiver with either one accepts the signature", () => {
  const secrets = [makeSigningSecret(), makeSigningSecret()];
  const headers = signHeaders({ id, body, nowMs: Date.now(), keys: secrets.map(signingKey) });
  assert.equal(headers["webhook-signature"].split(" ").length, 2);
  for (const secret of secrets) for (const Verifier of verifiers) new Verifier(secret).verify(body, { ...headers });
});

test("a different secret, body, id or time is rejected", () => {
  const secret = makeSigningSecret();
  const headers = signHeaders({ id, body, nowMs: Date.now(), keys: [signingKey(secret)] });
  const old = signHeaders({ id, body, nowMs: Date.now() - 3600_000, keys: [signingKey(secret)] });
  for (const Verifier of verifiers) {
    const verifier = new Verifier(secret);
    assert.throws(() => new Verifier(makeSigningSecret()).verify(body, { ...headers }));
    assert.throws(() => verifier.verify(body.replace("replied", "bounced"), { ...headers }));
    assert.throws(() => verifier.verify(body, { ...headers, "webhook-id": "evt_1" }));
    assert.throws(() =>
      verifier.verify(body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) }),
    );
    assert.throws(() => verifier.verify(body, { ...old }), "too old");
  }
});

test("the signature of a fixed message equals that of other implementations", () => {
  // The example from the tests of the Standard Webhooks libraries.
  const headers = signHeaders({
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    body: '{"test": 2432232314}',
    nowMs: 1614265330_999,
    keys: [signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")],
  });
  assert.deepEqual(headers, {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a secret is whsec_ and 32 random bytes", () => {
  const secrets = Array.from({ length: 100 }, makeSigningSecret);
  for (const secret of secrets) assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(new Set(secrets).size, 100);
});

test("events and secrets are read once for several posts, and again after a while", async () => {
  let nowMs = 1_700_000_000_000;
  let renders = 0;
  let opens = 0;
  const posted: PostRequest[] = [];
  const real = createSecrets("a".repeat(32));
  const secrets = {
    ...real,
    open(sealed: string, context: string) {
      opens += 1;
      return real.open(sealed, context);
    },
  };
  const attempt = createAttempt({
    secrets,
    nowMs: () => nowMs,
    render: ({ type }) => `${type} ${++renders}`,
    poster: {
      async post(request) {
        posted.push(request);
        return undefined;
      },
      stop() {},
    },
  });
  const signerOf = (webhookId: string) => ({
    workspaceId: "w",
    id: webhookId,
    url: "https://hooks.test/",
    sealedSecrets: [real.seal(makeSigningSecret(), secretContext(webhookId))],
  });
  const [one, two] = [signerOf("one"), signerOf("two")];
  const event = {
    number: "1",
    id: "01938a52-1f33-7d48-9b10-a4c6e8f02d75",
    type: "email.delivered",
    emailId: null,
    messageId: null,
    metadata: {},
    payload: {},
    createdAt: new Date(0),
  };
  const post = async (signer: typeof one) => {
    await attempt(signer, { ...event }, new AbortController().signal);
    return posted.at(-1)!;
  };
  const first = await post(one);
  const second = await post(two);
  assert.notEqual(first.headers["webhook-signature"], second.headers["webhook-signature"]);
  await post(one);
  assert.deepEqual([renders, opens], [1, 2]);
  nowMs += 60_000;
  assert.equal((await post(one)).body, "email.delivered 2");
  assert.deepEqual([renders, opens], [2, 3]);
});
