import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { startSink } from "../../../test/harness/sink.ts";
import {
  byRecipient,
  on,
  type Script,
  type SinkOptions,
  scripts,
  usualExtensions,
} from "../../../test/harness/sink-script.ts";
import type { Message, StreamedMessage } from "./envelope.ts";
import { Progress } from "./progress.ts";
import { openSession, type TransactionResult } from "./session.ts";
import type { Timeouts } from "./target.ts";

const crlf = "Subject: hello\r\n\r\nFirst line\r\n.dot\r\n..\r\nlast\r\n";

function message(parts: Partial<Message> = {}): Message {
  return { from: "sender@example.com", recipients: ["a@example.test"], data: Buffer.from(crlf), ...parts };
}

async function start(t: TestContext, sinkOptions: SinkOptions = {}, timeouts: Partial<Timeouts> = {}) {
  const sink = await startSink(sinkOptions);
  t.after(() => sink.close());
  const opened = await openSession(
    { host: "mx.example.test", address: "127.0.0.1", port: sink.port, heloName: "posthorn.example", tls: "none" },
    { timeouts },
  );
  assert.ok("session" in opened, JSON.stringify(opened));
  t.after(() => opened.session.destroy());
  return { sink, session: opened.session };
}

/** The result of each recipient in short: `accepted`, or kind:phase:code. */
function results(result: TransactionResult): string[] {
  return result.recipients.map(({ result: evidence }) => {
    if (evidence.kind === "accepted") return "accepted";
    if (evidence.kind === "refused") return `refused:${evidence.phase}:${evidence.reply.code}`;
    if (evidence.kind === "unsendable") return `unsendable:${evidence.reason}`;
    return `${evidence.kind}:${"phase" in evidence ? evidence.phase : ""}`;
  });
}

test("the header fields of a copy are sent in front of the message and count in SIZE", async (t) => {
  const { sink, session } = await start(t, { extensions: ["SIZE 200", "PIPELINING"] });
  const prefix = "X-Posthorn-Copy: rp-x\r\n";
  assert.deepEqual(results(await session.transact(message({ prefix }))), ["accepted"]);
  assert.equal(sink.deliveries[0]?.data.toString(), prefix + crlf);
  assert.ok(sink.deliveries[0]!.parameters.includes(`SIZE=${prefix.length + crlf.length}`));
  const tooLong = `X-Posthorn-Copy: ${"x".repeat(180)}\r\n`;
  assert.deepEqual(results(await session.transact(message({ prefix: tooLong }))), ["unsendable:too-large"]);
});

const noPipelining = usualExtensions.filter((word) => word !== "PIPELINING");

for (const [mode, extensions] of [
  ["pipelined", usualExtensions],
  ["without pipelining", noPipelining],
  ["HELO only", undefined],
] as const) {
  const options: SinkOptions = extensions ? { extensions } : { script: on("ehlo", "502 no") };

  test(`${mode}: a message arrives unchanged`, async (t) => {
    const { sink, session } = await start(t, options);
    const result = await session.transact(message());
    assert.deepEqual(results(result), ["accepted"]);
    assert.equal(result.stage, "dot");
    assert.equal(result.inDoubt, false);
    assert.equal(sink.deliveries[0]?.data.toString(), crlf);
    assert.deepEqual(sink.deliveries[0]?.recipients, ["a@example.test"]);
    const [{ result: evidence }] = result.recipients as [TransactionResult["recipients"][0]];
    assert.equal(evidence.kind === "accepted" && evidence.reply.line, "250 2.0.0 Queued");
  });

  test(`${mode}: each recipient gets its own result`, async (t) => {
    const script = scripts(
      options.script ?? (() => undefined),
      byRecipient({ b: "550 5.1.1 No", c: "451 4.7.1 Later" }),
    );
    const { sink, session } = await start(t, { ...options, script });
    const recipients = ["a@example.test", "b@example.test", "c@example.test", "d@example.test"];
    const result = await session.transact(message({ recipients }));
    assert.deepEqual(results(result), ["accepted", "refused:rcpt:550", "refused:rcpt:451", "accepted"]);
    assert.deepEqual(sink.deliveries[0]?.recipients, ["a@example.test", "d@example.test"]);
  });

  test(`${mode}: one session carries many messages, also after refusals`, async (t) => {
    const script = scripts(
      options.script ?? (() => undefined),
      byRecipient({ no: "550 5.1.1 No" }),
      on("mail", ({ from }) => (from === "bad@example.com" ? "550 5.7.1 Not you" : undefined)),
    );
    const { sink, session } = await start(t, { ...options, script });
    assert.deepEqual(results(await session.transact(message({ recipients: ["no@example.test"] }))), [
      "refused:rcpt:550",
    ]);
    assert.deepEqual(results(await session.transact(message())), ["accepted"]);
    assert.deepEqual(results(await session.transact(message({ from: "bad@example.com" }))), ["refused:mail:550"]);
    assert.deepEqual(results(await session.transact(message())), ["accepted"]);
    assert.equal(session.transactions, 4);
    assert.equal(sink.connections.opened, 1);
    // Only the transaction whose envelope was accepted and not finished needs RSET.
    assert.equal(sink.commands.filter(({ line }) => line === "RSET").length, 1);
  });

  for (const [at, script, expected] of [
    ["MAIL", on("mail", "452 4.3.1 Full"), "refused:mail:452"],
    ["DATA", on("data", "451 4.3.0 Not now"), "refused:data:451"],
    ["the final dot", on("dot", "554 5.7.1 Spam"), "refused:dot:554"],
    ["MAIL with 421", on("mail", { reply: "421 4.7.0 Slow down", after: "close" }), "refused:mail:421"],
    ["the final dot with 421", on("dot", { reply: "421 4.7.0 Slow down", after: "close" }), "refused:dot:421"],
  ] as const) {
    test(`${mode}: a refusal at ${at} is the result of every recipient`, async (t) => {
      const both = scripts(options.script ?? (() => undefined), script as Script);
      const { session } = await start(t, { ...options, script: both });
      const result = await session.transact(message({ recipients: ["a@example.test", "b@example.test"] }));
      assert.deepEqual(results(result), [expected, expected]);
      assert.equal(result.inDoubt, false);
      assert.equal(session.usable, !expected.endsWith("421"));
    });
  }

  test(`${mode}: 421 at a recipient is the result of every recipient without a refusal of its own`, async (t) => {
    const script = scripts(
      options.script ?? (() => undefined),
      byRecipient({ b: "550 5.1.1 No", c: { reply: "421 4.7.0 Enough", after: "close" } }),
    );
    const { sink, session } = await start(t, { ...options, script });
    const recipients = ["a", "b", "c", "d"].map((name) => `${name}@example.test`);
    const result = await session.transact(message({ recipients }));
    assert.deepEqual(results(result), ["refused:rcpt:421", "refused:rcpt:550", "refused:rcpt:421", "refused:rcpt:421"]);
    assert.equal(sink.deliveries.length, 0);
    assert.equal(session.usable, false);
  });
}

test("pipelining sends the envelope and DATA without waiting for any reply", async (t) => {
  const late = { raw: "250 sender\r\n250 recipient\r\n", reply: "354 go" };
  const script = scripts(on("mail", "silence"), on("rcpt", "silence"), on("data", late));
  const { sink, session } = await start(t, { script });
  assert.deepEqual(results(await session.transact(message())), ["accepted"]);
  assert.deepEqual(
    sink.commands.slice(1).map(({ line }) => line),
    [`MAIL FROM:<sender@example.com> SIZE=${crlf.length}`, "RCPT TO:<a@example.test>", "DATA"],
  );
});

test("DATA that is accepted without a recipient is ended with a lone dot", async (t) => {
  const script = scripts(
    byRecipient({ a: "550 5.1.1 No" }),
    on("data", ({ recipients }) => (recipients.length === 0 ? "354 go" : undefined)),
  );
  const { sink, session } = await start(t, { script });
  assert.deepEqual(results(await session.transact(message())), ["refused:rcpt:550"]);
  assert.equal(sink.deliveries[0]?.raw.length, 0);
  assert.equal(session.usable, true);
  assert.deepEqual(results(await session.transact(message({ recipients: ["b@example.test"] }))), ["accepted"]);
});

test("a disconnect after the final dot leaves recipients in doubt, except those refused before", async (t) => {
  const script = scripts(byRecipient({ b: "550 5.1.1 No" }), on("dot", "close"));
  const { sink, session } = await start(t, { script });
  const result = await session.transact(message({ recipients: ["a@example.test", "b@example.test"] }));
  assert.deepEqual(results(result), ["lost:after-dot", "refused:rcpt:550"]);
  assert.equal(result.inDoubt, true);
  assert.equal(sink.deliveries[0]?.complete, true);
});

test("a timeout after the final dot leaves the attempt in doubt", async (t) => {
  const { session } = await start(t, { script: on("dot", "silence") }, { dotMs: 200 });
  const result = await session.transact(message());
  assert.deepEqual(results(result), ["timeout:after-dot"]);
  assert.equal(result.inDoubt, true);
});

test("a disconnect right after the 250 counts as accepted", async (t) => {
  const { session } = await start(t, { script: on("dot", { reply: "250 2.0.0 Queued", after: "close" }) });
  const result = await session.transact(message());
  assert.deepEqual(results(result), ["accepted"]);
  assert.equal(result.inDoubt, false);
});

test("a 250 followed by garbage in one packet counts as accepted and ends the session", async (t) => {
  const { session } = await start(t, { script: on("dot", { raw: "250 ok\r\ngarbage\r\n" }) });
  assert.deepEqual(results(await session.transact(message())), ["accepted"]);
  assert.equal(session.usable, false);
});

const large = Buffer.from(`Subject: large\r\n\r\n${`${"x".repeat(76)}\r\n`.repeat(60_000)}`);

test("a disconnect inside a large message is not in doubt: the final dot was not sent", async (t) => {
  const { session } = await start(t, {
    script: on("bytes", ({ received }) => (received > 100_000 ? "reset" : undefined)),
  });
  const result = await session.transact(message({ data: large }));
  assert.deepEqual(results(result), ["lost:data"]);
  assert.equal(result.inDoubt, false);
});

test("a refusal in the middle of a large message ends the transfer", async (t) => {
  const refuse = { raw: "552 5.3.4 Too big\r\n", after: "pause" } as const;
  const script = on("bytes", ({ received }) => (received > 100_000 ? refuse : undefined));
  const { session } = await start(t, { script });
  const result = await session.transact(message({ data: Buffer.concat([large, large, large, large]) }));
  assert.deepEqual(results(result), ["refused:data:552"]);
  assert.equal(session.usable, false);
});

test("a server that stops reading is a timeout", async (t) => {
  const { session } = await start(t, { script: on("data", { reply: "354 go", after: "pause" }) }, { bodyMs: 300 });
  const data = Buffer.from(`${"x".repeat(998)}\r\n`.repeat(20_000));
  const result = await session.transact(message({ data }));
  assert.deepEqual(results(result), ["timeout:data"]);
  assert.equal(result.inDoubt, false);
});

test("a message of 40 MiB arrives complete", async (t) => {
  const { sink, session } = await start(t);
  const data = Buffer.from(`${".".repeat(62)}\r\n`.repeat((40 * 1024 * 1024) / 64));
  assert.deepEqual(results(await session.transact(message({ data }))), ["accepted"]);
  assert.equal(sink.deliveries[0]?.data.equals(data), true);
});

for (const [at, script, timeouts, expected] of [
  ["MAIL", on("mail", "silence"), { mailMs: 200 }, "timeout:mail"],
  ["RCPT", on("rcpt", { reply: "250 ".padEnd(500, "x"), dripMs: 10 }), { rcptMs: 200 }, "timeout:rcpt"],
  ["DATA", on("data", "silence"), { dataMs: 200 }, "timeout:data"],
  [
    "the whole transaction",
    on("rcpt", { reply: "250 ".padEnd(500, "x"), dripMs: 10 }),
    { transactionMs: 200 },
    "timeout:rcpt",
  ],
] as const) {
  test(`a server that is too slow at ${at} is a timeout`, async (t) => {
    const { sink, session } = await start(t, { script, extensions: noPipelining }, timeouts);
    assert.deepEqual(results(await session.transact(message())), [expected]);
    await sink.until(({ connections }) => connections.open === 0);
  });
}

for (const [at, script, expected] of [
  ["MAIL", on("mail", "close"), "lost:mail"],
  ["RCPT", on("rcpt", "reset"), "lost:rcpt"],
  ["DATA", on("data", "close"), "lost:data"],
  ["MAIL with an unexpected code", on("mail", "354 go"), "protocol:mail"],
  ["RCPT with an unexpected code", on("rcpt", "334 what"), "protocol:rcpt"],
  ["DATA with 250", on("data", "250 fine"), "protocol:data"],
  ["RCPT with an endless reply", on("rcpt", { raw: "250-x\r\n".repeat(1000) }), "protocol:rcpt"],
] as const) {
  test(`a failure at ${at} ends the session`, async (t) => {
    const { session } = await start(t, { script });
    const result = await session.transact(message());
    assert.deepEqual(results(result), [expected]);
    assert.equal(result.inDoubt, false);
    assert.equal(session.usable, false);
    assert.match(results(await session.transact(message()))[0] ?? "", /^(lost|protocol):mail$/);
  });
}

test("an aborted signal ends a transaction, which is in doubt only after the final dot", async (t) => {
  const early = await start(t, { script: on("data", "silence"), extensions: noPipelining });
  const stopEarly = new AbortController();
  const first = early.session.transact(message(), stopEarly.signal);
  await early.sink.until((sink) => sink.commands.some(({ line }) => line === "DATA"));
  stopEarly.abort();
  assert.deepEqual([results(await first), (await first).inDoubt], [["aborted:data"], false]);

  const late = await start(t, { script: on("dot", "silence") });
  const stopLate = new AbortController();
  const second = late.session.transact(message(), stopLate.signal);
  await late.sink.until((sink) => sink.deliveries[0]?.complete === true);
  stopLate.abort();
  assert.deepEqual([results(await second), (await second).inDoubt], [["aborted:after-dot"], true]);
});

test("MAIL has the parameters that the server offers and the message needs", async (t) => {
  const { sink, session } = await start(t);
  await session.transact(message({ recipients: ["jürgen@example.test"], eightBit: true }));
  assert.deepEqual(sink.deliveries[0]?.parameters, [`SIZE=${crlf.length}`, "BODY=8BITMIME", "SMTPUTF8"]);
  const plain = await start(t, { extensions: ["PIPELINING"] });
  await plain.session.transact(message());
  assert.deepEqual(plain.sink.deliveries[0]?.parameters, []);
});

test("when the server does not offer SMTPUTF8, only the recipients that need it fail", async (t) => {
  const { sink, session } = await start(t, { extensions: ["PIPELINING"] });
  const result = await session.transact(message({ recipients: ["jürgen@example.test", "a@example.test"] }));
  assert.deepEqual(results(result), ["unsendable:smtputf8", "accepted"]);
  assert.deepEqual(sink.deliveries[0]?.recipients, ["a@example.test"]);
  assert.deepEqual(results(await session.transact(message({ from: "é@example.com" }))), ["unsendable:smtputf8"]);
  assert.deepEqual(results(await session.transact(message({ utf8Headers: true }))), ["unsendable:smtputf8"]);
  assert.deepEqual(results(await session.transact(message({ eightBit: true }))), ["unsendable:eight-bit"]);
});

test("a message over the server's SIZE limit is not sent", async (t) => {
  const { sink, session } = await start(t, { extensions: ["SIZE 20"] });
  assert.deepEqual(results(await session.transact(message())), ["unsendable:too-large"]);
  assert.equal(sink.commands.length, 1);
  const unlimited = await start(t, { extensions: ["SIZE 0"] });
  assert.deepEqual(results(await unlimited.session.transact(message())), ["accepted"]);
});

for (const address of ["a@b\r\nRCPT TO:<c@d>", "a@b> SIZE=1", "a b@example.test", "a\0@b", "plain", "", '"a\r\nb"@c']) {
  test(`the address ${JSON.stringify(address)} is never sent`, async (t) => {
    const { sink, session } = await start(t);
    assert.deepEqual(results(await session.transact(message({ recipients: [address] }))), ["unsendable:bad-address"]);
    if (address !== "") {
      assert.deepEqual(results(await session.transact(message({ from: address }))), ["unsendable:bad-address"]);
    }
    assert.equal(sink.commands.length, 1);
  });
}

test("quoted local parts and the null sender are sent unchanged", async (t) => {
  const { sink, session } = await start(t);
  const recipients = ['"john doe"@example.test', '"a>b\\""@example.test'];
  assert.deepEqual(results(await session.transact(message({ from: "", recipients }))), ["accepted", "accepted"]);
  assert.deepEqual(sink.deliveries[0]?.recipients, recipients);
  assert.equal(sink.deliveries[0]?.from, "");
});

test("a message with a bare LF is cut off before the final dot", async (t) => {
  const { sink, session } = await start(t);
  assert.deepEqual(results(await session.transact(message({ data: Buffer.from("a\n.\n") }))), [
    "unsendable:bad-message",
  ]);
  await sink.until(({ connections }) => connections.open === 0);
  assert.equal(sink.accepted, 0);
});

test("a second transaction during the first is an error", async (t) => {
  const { session } = await start(t);
  const first = session.transact(message());
  await assert.rejects(session.transact(message()), /one transaction at a time/);
  assert.deepEqual(results(await first), ["accepted"]);
});

/** A source that counts how often it was loaded. */
function sourceOf(data: Buffer) {
  const source = {
    length: undefined,
    loads: 0,
    load: async () => {
      source.loads += 1;
      return data;
    },
  };
  return source;
}

test("a message that is not composed yet is loaded only when the server asks for it", async (t) => {
  const refusing = await start(t, { script: byRecipient({ no: "550 5.1.1 No such user" }) });
  const refused = sourceOf(Buffer.from("Subject: x\r\n\r\n"));
  const rejected = await refusing.session.transact(message({ recipients: ["no@example.test"], data: refused }));
  assert.deepEqual(results(rejected), ["refused:rcpt:550"]);
  assert.equal(refused.loads, 0);
  const taken = sourceOf(Buffer.from("Subject: y\r\n\r\n"));
  assert.deepEqual(results(await refusing.session.transact(message({ data: taken }))), ["accepted"]);
  assert.equal(taken.loads, 1);
});

test("a message that turns out to be too large or cannot be composed never arrives", async (t) => {
  const small = await start(t, { extensions: ["PIPELINING", "SIZE 100"] });
  const large = sourceOf(Buffer.from(`Subject: x\r\n\r\n${"y".repeat(200)}\r\n`));
  assert.deepEqual(results(await small.session.transact(message({ data: large }))), ["unsendable:too-large"]);
  assert.equal(small.session.usable, false);
  const broken = await start(t);
  const failing = { length: undefined, load: () => Promise.reject(new Error("no memory")) };
  await assert.rejects(broken.session.transact(message({ data: failing })), /no memory/);
  assert.equal(broken.session.usable, false);
  assert.equal(broken.sink.accepted + small.sink.accepted, 0);
});

test("progress says what the attempt waits for, and when the message is no longer needed", async (t) => {
  const { session, sink } = await start(t, { script: on("dot", "silence") });
  const progress = new Progress();
  const answered: string[] = [];
  let dots = 0;
  progress.onAnswer = (step) => answered.push(step);
  progress.onDot = () => dots++;
  const stop = new AbortController();
  const sending = session.transact(message(), stop.signal, progress);
  await sink.until(({ deliveries }) => deliveries.some(({ complete }) => complete));
  assert.equal(progress.step, "dot");
  assert.notEqual(progress.waitingSinceMs, undefined);
  assert.deepEqual([...new Set(answered)], ["envelope"]);
  assert.equal(dots, 1);
  stop.abort();
  await sending;
  assert.equal(progress.waitingSinceMs, undefined);
});

/** A message that is read in these pieces. */
function streamed(pieces: (string | Error)[], length?: number): StreamedMessage & { closed: number } {
  const texts = pieces.filter((piece) => typeof piece === "string");
  const data = {
    closed: 0,
    length: length ?? texts.join("").length,
    async *read() {
      try {
        for (const piece of pieces) {
          await new Promise((resolve) => setImmediate(resolve));
          if (piece instanceof Error) throw piece;
          yield { bytes: Buffer.from(piece), isPlain: /^(?:[A-Z]+\r\n)+$/.test(piece) };
        }
      } finally {
        data.closed += 1;
      }
    },
  };
  return data;
}

test("a message that is read while it is sent arrives unchanged, with its dots and its prefix", async (t) => {
  const { sink, session } = await start(t, { extensions: ["SIZE 400000", "PIPELINING"] });
  const pieces = ["Subject: x\r", "\n\r\n.a\r\n", ".", ".b\r\n", "QUJD\r\n".repeat(30_000), ".c\r\n.", "\r\n"];
  const data = streamed(pieces);
  const prefix = "X-Copy: one\r\n";
  assert.deepEqual(results(await session.transact(message({ data, prefix }))), ["accepted"]);
  assert.equal(sink.deliveries[0]?.data.toString(), prefix + pieces.join(""));
  assert.ok(sink.deliveries[0]!.parameters.includes(`SIZE=${prefix.length + data.length}`));
  assert.deepEqual(results(await session.transact(message({ data: streamed(["a: b\r\n\r\n", "no end"]) }))), [
    "accepted",
  ]);
  assert.equal(sink.deliveries[1]?.data.toString(), "a: b\r\n\r\nno end\r\n");
  assert.equal(data.closed, 1);
  assert.deepEqual(results(await session.transact(message({ data: streamed(["x"], 400_001) }))), [
    "unsendable:too-large",
  ]);
});

for (const [what, data] of [
  ["fails", streamed(["Subject: x\r\n\r\n", "text\r\n", new Error("the database is gone")], 1000)],
  ["ends early", streamed(["Subject: x\r\n\r\n", "text\r\n"], 1000)],
  ["goes on for too long", streamed(["Subject: x\r\n\r\n", "text\r\n"], 15)],
] as const) {
  test(`a message whose read ${what} is never taken for a whole one: the connection closes without the final dot`, async (t) => {
    const { sink, session } = await start(t);
    let dots = 0;
    const progress = new Progress();
    progress.onDot = () => {
      dots += 1;
    };
    await assert.rejects(session.transact(message({ data }), undefined, progress), /database is gone|was read as/);
    assert.equal(session.usable, false);
    assert.equal(dots, 0);
    await sink.close();
    assert.ok(sink.deliveries.every(({ complete }) => !complete));
    assert.equal(data.closed, 1);
  });
}

test("a bare line end between two pieces ends the transaction before the final dot", async (t) => {
  for (const pieces of [["a: b\r\n\r\nx\r", "y\r\n"], ["a: b\r\n\r\nx", "\ny\r\n"], ["a: b\r\n\r\nx\r"]]) {
    const { sink, session } = await start(t);
    const data = streamed(pieces);
    assert.deepEqual(results(await session.transact(message({ data }))), ["unsendable:bad-message"]);
    await sink.close();
    assert.ok(sink.deliveries.every(({ complete }) => !complete));
    assert.equal(data.closed, 1);
  }
});

test("a server that answers or leaves in the middle of a message that is read ends the read", async (t) => {
  const lines = "QUJD\r\n".repeat(20_000);
  const data = () => streamed(Array.from({ length: 200 }, () => lines));
  const refuse = { raw: "552 5.3.4 Too big\r\n", after: "pause" } as const;
  const refusing = await start(t, { script: on("bytes", ({ received }) => (received > 100_000 ? refuse : undefined)) });
  const first = data();
  assert.deepEqual(results(await refusing.session.transact(message({ data: first }))), ["refused:data:552"]);
  assert.equal(first.closed, 1);
  const deaf = await start(t, { script: on("data", { reply: "354 go", after: "pause" }) }, { bodyMs: 300 });
  const third = data();
  assert.deepEqual(results(await deaf.session.transact(message({ data: third }))), ["timeout:data"]);
  assert.equal(third.closed, 1);
  const abort = new AbortController();
  const { session } = await start(t);
  const second = data();
  const progress = new Progress();
  const running = session.transact(message({ data: second }), abort.signal, progress);
  setImmediate(() => abort.abort());
  assert.match(results(await running)[0]!, /^aborted:/);
  assert.equal(second.closed <= 1, true);
});
