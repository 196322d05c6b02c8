/** A call whose deadline passes before its write is sent stores nothing: in every protocol, while it waits in a group commit, and while its
 * body arrives. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { after, before, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { SendEmailRequestSchema } from "../../src/gen/v1/email_pb.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";
import { sendRaw } from "../harness/raw.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

const emailWith = (subject: string) => ({
  from: "shop@example.test",
  to: ["delivered@there.test"],
  subject,
  body: "Hi",
  async: true,
});
const send = (subject: string, headers: Record<string, string> = {}): Promise<Answer> =>
  program.call("EmailService/SendEmail", emailWith(subject), { headers });

async function storedSubjects(): Promise<string[]> {
  const rows = await database.sql<{ subject: string }[]>`select subject from emails order by subject`;
  return rows.map(({ subject }) => subject);
}

const path = "/v1.EmailService/SendEmail";
const binary = (subject: string) =>
  toBinary(SendEmailRequestSchema, create(SendEmailRequestSchema, emailWith(subject)));

/** Returns the status of a gRPC call. `sent` bytes of its message are sent, by default all. */
async function sendGrpc(subject: string, timeout: string, sent?: number): Promise<string> {
  const message = binary(subject);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const session = connectHttp2(program.url);
  const headers = {
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc+proto",
    te: "trailers",
    "grpc-timeout": timeout,
    authorization: `Bearer ${program.key}`,
  };
  try {
    const call = session.request(headers);
    const body = Buffer.concat([head, message]);
    if (sent === undefined) call.end(body);
    else call.write(body.subarray(0, sent));
    return await new Promise<string>((resolve, reject) => {
      const status = (fields: Record<string, unknown>) =>
        fields["grpc-status"] && resolve(String(fields["grpc-status"]));
      call.on("response", status).on("trailers", status).on("error", reject).resume();
    });
  } finally {
    session.destroy();
  }
}

/** The status codes of gRPC. */
const [grpcOk, grpcDeadlineExceeded] = ["0", "4"];

test("a deadline of zero gets deadline_exceeded and stores nothing, in every protocol", async () => {
  // On an idle machine some of these calls are ready to write before a timer of zero fires.
  for (let i = 0; i < 300; i++) {
    const json = await send("zero JSON", { "connect-timeout-ms": "0" });
    assert.deepEqual([json.status, json.body.code], [504, "deadline_exceeded"]);
    assert.match(String(json.body.message), /nothing was changed/);
  }
  const proto = await fetch(program.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/proto",
      "connect-protocol-version": "1",
      "connect-timeout-ms": "0",
      authorization: `Bearer ${program.key}`,
    },
    body: new Uint8Array(binary("zero binary")),
  });
  assert.deepEqual([proto.status, ((await proto.json()) as { code: string }).code], [504, "deadline_exceeded"]);
  for (const timeout of ["0m", "1n", "0S"]) assert.equal(await sendGrpc("zero gRPC", timeout), grpcDeadlineExceeded);
  const batch = { emails: [emailWith("zero batch")] };
  const many = await program.call("EmailService/SendEmailBatch", batch, { headers: { "connect-timeout-ms": "0" } });
  assert.deepEqual([many.status, many.body.code], [504, "deadline_exceeded"]);

  assert.equal(await sendGrpc("in time", "20S"), grpcOk);
  assert.deepEqual(await storedSubjects(), ["in time"]);
});

test("an email whose deadline passes in the queue of the group commit is not stored, and the others are", async () => {
  const known = (await storedSubjects()).length;
  const released = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const lock = database.sql.begin(async (tx) => {
    await tx.unsafe("lock table emails in share mode");
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  const answers: Promise<Answer>[] = [];
  // Two batches may run at once. Both wait for the lock, so all other emails stay in the queue.
  for (const running of [1, 2]) {
    answers.push(send(`running ${running}`));
    await until(`${running} batches to wait for the lock`, async () => {
      const [row] = await database.sql<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query ilike '%requested as (%'`;
      return row!.waiting >= running;
    });
  }
  answers.push(send("queued"));
  const late = await send("late", { "connect-timeout-ms": "300" });
  assert.deepEqual([late.status, late.body.code], [504, "deadline_exceeded"]);
  released.resolve();
  await lock;
  for (const answer of answers) assert.equal((await answer).status, 200);
  assert.deepEqual((await storedSubjects()).slice(known), ["queued", "running 1", "running 2"]);
});

test("a call that Connect serves ends at its deadline when its body does not arrive", async () => {
  const before = await storedSubjects();
  const head = [
    ...[`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${program.key}`, "Content-Length: 100"],
    ...["Content-Type: application/proto", "Connect-Protocol-Version: 1", "Connect-Timeout-Ms: 300"],
  ];
  const raw = await sendRaw(program.ports.http, `${head.join("\r\n")}\r\n\r\nxx`, { enough: /deadline_exceeded/ });
  assert.deepEqual([raw.status, raw.end], [504, "us"]);
  assert.equal(await sendGrpc("half", "300m", 20), grpcDeadlineExceeded);
  assert.deepEqual(await storedSubjects(), before);
});
