/** CountEmails and ExportEmails, as a foreign client sees them: the filters of ListEmails, whole files, clear errors. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { storeBatch } from "../../src/emails/store/batches.ts";
import { EmailOutcome, EmailService, ExportFormat } from "../../src/gen/v1/email_pb.ts";
import { readCsv } from "../../src/ops/csv.ts";
import { newEmail } from "../harness/mail.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
const ids: string[] = [];
before(async () => {
  testbed = await startTestbed();
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  ids.push(await accepted(testbed, { to: ["Ann <ann@there.test>"], subject: '=cmd|"x"!A1, "quoted"\tand more' }));
  ids.push(
    await accepted(testbed, { to: ["bob@there.test"], subject: "Später", metadata: { order: "7" }, scheduledAt }),
  );
  await untilFinished(testbed, ids[0]!);
});
after(async () => await testbed?.stop());

function clientFor(key: string): Client<typeof EmailService> {
  const authorize: Interceptor = (next) => async (request) => {
    request.header.set("authorization", `Bearer ${key}`);
    return await next(request);
  };
  const baseUrl = testbed.program.url;
  return createClient(EmailService, createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [authorize] }));
}

const client = () => clientFor(testbed.nodeEnv.POSTHORN_API_KEY!);

async function exported(request: Parameters<Client<typeof EmailService>["exportEmails"]>[0]) {
  const chunks: Uint8Array[] = [];
  let emails = 0;
  for await (const message of client().exportEmails(request)) {
    chunks.push(message.chunk);
    emails = message.emails;
  }
  return { text: Buffer.concat(chunks).toString(), emails, chunks: chunks.length };
}

test("a CSV file has a header and one safe record for each email", async () => {
  const { text, emails } = await exported({});
  const [header, later, first, ...more] = [...readCsv(text)].map(({ cells }) => cells);
  assert.equal(more.length, 0);
  assert.equal(emails, 2);
  const record = (cells: string[]) => Object.fromEntries(header!.map((name, n) => [name, cells[n]]));
  assert.deepEqual(
    [record(later!).id, record(later!).outcome, record(later!).metadata, record(later!).subject],
    [ids[1], "queued", '{"order":"7"}', "Später"],
  );
  // A spreadsheet shows the text instead of running it.
  assert.equal(record(first!).subject, `'=cmd|"x"!A1, "quoted"\tand more`);
  assert.deepEqual(
    [record(first!).outcome, record(first!).delivered, record(first!).to],
    ["delivered", "1", "Ann <ann@there.test>"],
  );
});

test("JSON lines have the fields that ListEmails returns", async () => {
  const { text } = await exported({ format: ExportFormat.JSON_LINES });
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { body } = await testbed.call("EmailService/ListEmails", {});
  assert.deepEqual(lines, body.data);
});

test("the filters of ListEmails apply, and CountEmails counts what they find", async () => {
  await until(
    "the site to be counted",
    async () => (await client().listEmails({ site: "there.test" })).data.length > 0,
  );
  for (const [filter, expected] of [
    [{ outcomes: [EmailOutcome.QUEUED] }, [ids[1]]],
    [{ search: "bob@there" }, [ids[1]]],
    [{ metadataKey: "order", metadataValue: "7" }, [ids[1]]],
    [{ recipient: "ann@there.test" }, [ids[0]]],
    [{ domain: "other.test" }, []],
    [{ site: " There.test" }, [ids[0]]],
    [{ site: "mx7.there.test." }, [ids[0]]],
    [{ site: "there.test", outcomes: [EmailOutcome.QUEUED] }, []],
    [{ site: "test" }, []],
    [{ pageSize: 1 }, [ids[1], ids[0]]],
  ] as const) {
    const { text, emails } = await exported({ filter: filter as object, format: ExportFormat.JSON_LINES });
    assert.deepEqual(
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line).id),
      expected,
      JSON.stringify(filter),
    );
    assert.equal(emails, expected.length);
    assert.equal((await client().countEmails({ filter: filter as object })).total, expected.length);
  }
  const { counts, total, atLeast } = await client().countEmails({});
  assert.deepEqual([total, atLeast], [2, false]);
  assert.deepEqual(
    counts.map(({ outcome, emails, atLeast }) => [outcome, emails, atLeast]),
    [
      [EmailOutcome.QUEUED, 1, false],
      [EmailOutcome.DELIVERED, 1, false],
    ],
  );
});

test("a wrong filter is an error that names the field, and nothing is written", async () => {
  for (const [request, field] of [
    [{ filter: { metadataValue: "x" } }, /filter\.metadataValue/],
    [{ filter: { keyId: "nonsense" } }, /filter\.keyId/],
    [{ filter: { search: "x".repeat(501) } }, /filter\.search.*at most 500/],
    [{ format: 99 as ExportFormat }, /format/],
  ] as const) {
    await assert.rejects(exported(request), (error) => {
      assert.ok(error instanceof ConnectError && error.code === Code.InvalidArgument);
      assert.match(error.message, field);
      return true;
    });
  }
});

test("a key that may only send can neither count nor export", async () => {
  const { body } = await testbed.call("KeyService/CreateKey", { name: "s", permission: "KEY_PERMISSION_SEND" });
  const sender = clientFor(body.secret as string);
  const isDenied = (error: unknown) => error instanceof ConnectError && error.code === Code.PermissionDenied;
  await assert.rejects(sender.countEmails({}), isDenied);
  await assert.rejects(async () => {
    for await (const _ of sender.exportEmails({}));
  }, isDenied);
});

test("a large file arrives completely in bounded chunks, and a client may leave early", async () => {
  const { database, workspaceId } = testbed;
  for (let stored = 0; stored < 1000; stored += 500) {
    const emails = Array.from({ length: 500 }, (_, n) =>
      newEmail(workspaceId, [`n${stored + n}@there.test`], {
        domain: "sender.test",
        scheduledAt: new Date(Date.now() + 3_600_000),
      }),
    );
    await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
  }
  const { text, emails, chunks } = await exported({ format: ExportFormat.JSON_LINES });
  assert.equal(emails, 1002);
  assert.equal(
    new Set(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id),
    ).size,
    1002,
  );
  assert.equal(chunks, 1 + Math.ceil(1002 / 200));
  const leave = new AbortController();
  await assert.rejects(
    async () => {
      for await (const _ of client().exportEmails({}, { signal: leave.signal })) leave.abort();
    },
    (error) => error instanceof ConnectError && error.code === Code.Canceled,
  );
  assert.equal((await client().countEmails({})).total, 1002, "the server goes on");
});
