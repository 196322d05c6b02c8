/** Many large emails at the same time: the program bounds its memory and asks callers to retry. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { memoryMiB } from "../harness/process-stats.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

const mib = 1024 * 1024;

let testbed: Testbed;
let body: Buffer;
before(async () => {
  testbed = await startTestbed({ sink: { record: false } });
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
after(async () => await testbed.stop());

type Reply = { status: number; retryAfter: string | undefined; body: Record<string, unknown> };

/** A client that reads a response even while it is still sending. */
function post(bytes: Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let gotResponse = false;
    const request = httpRequest(
      `${testbed.program.url}/v1.EmailService/SendEmail`,
      {
        method: "POST",
        agent: false,
        headers: {
          "content-type": "application/json",
          "connect-protocol-version": "1",
          authorization: `Bearer ${testbed.program.key}`,
          ...headers,
        },
      },
      (response) => {
        gotResponse = true;
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
    request.on("error", (error) => gotResponse || reject(error));
    request.end(bytes);
  });
}

/** Retries after the Retry-After time until the email is accepted, as a well-behaved client does. */
async function postUntilAccepted(bytes: Buffer): Promise<{ id: string; rejections: Reply[] }> {
  const rejections: Reply[] = [];
  const response = await until(
    "a large email to be accepted",
    async () => {
      const reply = await post(bytes);
      if (reply.status === 200) return reply;
      rejections.push(reply);
      return undefined;
    },
    { everyMs: 2000 },
  );
  return { id: response.body.id as string, rejections };
}

test("ten concurrent emails of 29 MiB: bounded memory, rejections with a retry time, no delay of small mail, and all arrive", async () => {
  const idle = memoryMiB(testbed.program.pid).now;
  let small = 0;
  let done = false;
  const smallMail = (async () => {
    for (; !done; small++, await delay(250))
      await accepted(testbed, { to: [`small-${small}@other.test`], async: true });
  })();
  const large = await Promise.all(Array.from({ length: 10 }, () => postUntilAccepted(body)));
  done = true;
  await smallMail;
  const rejections = large.flatMap((one) => one.rejections);
  assert.ok(rejections.length > 0, "ten bodies of 39 MiB do not fit at once");
  for (const { status, retryAfter, body: error } of rejections) {
    assert.equal(status, 429);
    assert.equal(error.code, "resource_exhausted");
    assert.equal(retryAfter, "2");
    assert.match(JSON.stringify(error.details), /google\.rpc\.RetryInfo/);
  }
  assert.ok(small > 0);
  for (const { id } of large) assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  const { peak } = memoryMiB(testbed.program.pid);
  // Several copies of a body exist while it is read and stored, and V8 frees them only at the next GC.
  assert.ok(peak - idle < 1100, `${Math.round(idle)} MiB idle, ${Math.round(peak)} MiB at peak`);
});

test("the body of a request without a valid key is not read and reserves no memory", async () => {
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => post(body, { authorization: "Bearer ph_nobody" }).catch(() => undefined)),
  );
  for (const reply of replies) if (reply) assert.equal(reply.status, 401);
  await postUntilAccepted(body);
});
