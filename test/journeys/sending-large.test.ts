import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { memoryMiB } from "../harness/process-stats.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const mib = 1024 * 1024;

let world: World;
let body: Buffer;
before(async () => {
  world = await startWorld({ sink: { record: false } });
  const attachments = [
    { filename: "film.bin", contentType: "video/mp4", base64Content: randomBytes(29 * mib).toString("base64") },
  ];
  body = Buffer.from(
    JSON.stringify({
      from: "news@sender.test",
      to: ["large@there.test"],
      subject: "Large",
      body: "See the film",
      async: true,
      attachments,
    }),
  );
});
after(async () => await world.stop());

type Reply = { status: number; retryAfter: string | undefined; body: Record<string, unknown> };

/** A client that reads an answer also while it is still sending. */
function post(bytes: Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let answered = false;
    const request = httpRequest(
      `${world.program.url}/v1.EmailService/SendEmail`,
      {
        method: "POST",
        agent: false,
        headers: {
          "content-type": "application/json",
          "connect-protocol-version": "1",
          authorization: `Bearer ${world.program.key}`,
          ...headers,
        },
      },
      (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode!,
            retryAfter: response.headers["retry-after"],
            body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
          }),
        );
      },
    );
    request.on("error", (error) => answered || reject(error));
    request.end(bytes);
  });
}

/** What a well-behaved client does: it comes back when it was told to. */
async function postUntilTaken(bytes: Buffer): Promise<{ id: string; refusals: Reply[] }> {
  const refusals: Reply[] = [];
  const taken = await until(
    "room for a large email",
    async () => {
      const reply = await post(bytes);
      if (reply.status === 200) return reply;
      refusals.push(reply);
      return undefined;
    },
    { everyMs: 2000 },
  );
  return { id: taken.body.id as string, refusals };
}

test("ten emails of 29 MiB at once: bounded memory, clear refusals, small mail passes, all arrive in the end", async () => {
  const idle = memoryMiB(world.program.pid).now;
  let small = 0;
  let done = false;
  const passers = (async () => {
    for (; !done; small++, await delay(250)) await accepted(world, { to: [`small-${small}@other.test`], async: true });
  })();
  const large = await Promise.all(Array.from({ length: 10 }, () => postUntilTaken(body)));
  done = true;
  await passers;
  const refusals = large.flatMap((one) => one.refusals);
  assert.ok(refusals.length > 0, "ten bodies of 39 MiB do not fit at once");
  for (const { status, retryAfter, body: error } of refusals) {
    assert.equal(status, 429);
    assert.equal(error.code, "resource_exhausted");
    assert.equal(retryAfter, "2");
    assert.match(JSON.stringify(error.details), /google\.rpc\.RetryInfo/);
  }
  assert.ok(small > 0);
  for (const { id } of large) assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
  const { peak } = memoryMiB(world.program.pid);
  // A body is held several times over while it is read and stored, and garbage lies about for a while.
  assert.ok(peak - idle < 1100, `${Math.round(idle)} MiB idle, ${Math.round(peak)} MiB at most`);
});

test("without a key nothing is read and nothing is held", async () => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => post(body, { authorization: "Bearer ph_nobody" }).catch(() => undefined)),
  );
  for (const reply of replies) if (reply) assert.equal(reply.status, 401);
  await postUntilTaken(body);
});
