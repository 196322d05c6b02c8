import assert from "node:assert/strict";
import net from "node:net";
import test, { type TestContext } from "node:test";
import { startSink, testCertificate } from "../../../test/harness/sink.ts";
import { on, type SinkOptions, scripts } from "../../../test/harness/sink-script.ts";
import { openSession, type Session } from "./session.ts";
import type { Target, Timeouts } from "./target.ts";

const { key, cert, ca } = testCertificate();

async function open(
  t: TestContext,
  sinkOptions: SinkOptions = {},
  targetOptions: Partial<Target> = {},
  options: { timeouts?: Partial<Timeouts>; signal?: AbortSignal } = {},
) {
  const sink = await startSink(sinkOptions);
  t.after(() => sink.close());
  const target: Target = {
    host: "mx.example.test",
    address: "127.0.0.1",
    port: sink.port,
    heloName: "posthorn.example",
    tls: "opportunistic",
    ...targetOptions,
  };
  const opened = await openSession(target, options);
  if ("session" in opened) t.after(() => opened.session.destroy());
  const failure = "failure" in opened ? opened.failure : undefined;
  return { sink, target, failure, session: "session" in opened ? opened.session : undefined };
}

function ready(opened: { session: Session | undefined; failure: unknown }): Session {
  assert.ok(opened.session, `did not open: ${JSON.stringify(opened.failure)}`);
  return opened.session;
}

test("a plaintext session sends EHLO with its name, and QUIT", async (t) => {
  const opened = await open(t);
  const session = ready(opened);
  assert.equal(session.tls, null);
  assert.equal(session.usable, true);
  await session.quit();
  assert.equal(session.usable, false);
  await opened.sink.until((sink) => sink.connections.open === 0);
  assert.deepEqual(
    opened.sink.commands.map((command) => command.line),
    ["EHLO posthorn.example", "QUIT"],
  );
});

test("the client sends HELO when EHLO is refused", async (t) => {
  const opened = await open(t, { script: on("ehlo", "502 5.5.1 Not implemented") });
  ready(opened);
  assert.deepEqual(
    opened.sink.commands.map((command) => command.line),
    ["EHLO posthorn.example", "HELO posthorn.example"],
  );
});

for (const [name, script, phase, code] of [
  ["a banner of 554", on("connect", "554 5.7.1 Go away"), "banner", 554],
  ["a banner of 421", on("connect", { reply: "421 4.3.2 Busy", after: "close" }), "banner", 421],
  ["a temporary refusal of EHLO", on("ehlo", "451 4.3.0 Not now"), "ehlo", 451],
  ["EHLO and HELO refused", scripts(on("ehlo", "550 no"), on("helo", "550 5.7.1 Bad name")), "ehlo", 550],
] as const) {
  test(`${name} is reported as a refusal with the reply`, async (t) => {
    const { failure, sink } = await open(t, { script });
    assert.equal(failure?.kind, "refused");
    assert.equal(failure?.kind === "refused" && failure.phase, phase);
    assert.equal(failure?.kind === "refused" && failure.reply.code, code);
    await sink.until(({ connections }) => connections.open === 0);
  });
}

for (const [name, script, kind, phase] of [
  ["disconnects at once", on("connect", "close"), "lost", "banner"],
  ["resets at EHLO", on("ehlo", "reset"), "lost", "ehlo"],
  ["sends no banner", on("connect", "silence"), "timeout", "banner"],
  ["sends its banner too slowly", on("connect", { reply: "220 ".padEnd(400, "x"), dripMs: 10 }), "timeout", "banner"],
  ["speaks another protocol", on("connect", { raw: "HTTP/1.1 400 Bad Request\r\n" }), "protocol", "banner"],
  ["sends 250 as its banner", on("connect", "250 hello"), "protocol", "banner"],
  ["sends an endless banner", on("connect", { raw: "220-x\r\n".repeat(5000) }), "protocol", "banner"],
  ["sends an endless line", on("connect", { raw: "220 ".padEnd(100_000, "x") }), "protocol", "banner"],
  ["sends a huge EHLO reply", on("ehlo", { raw: `250-${"x".repeat(900)}\r\n`.repeat(100) }), "protocol", "ehlo"],
] as const) {
  test(`a server that ${name} is reported as ${kind} at ${phase}`, async (t) => {
    const { failure, sink } = await open(t, { script }, {}, { timeouts: { bannerMs: 300 } });
    assert.equal(failure?.kind, kind, JSON.stringify(failure));
    assert.equal(failure && "phase" in failure && failure.phase, phase);
    await sink.until(({ connections }) => connections.open === 0);
  });
}

test("the limit for the whole opening applies even when every phase is within its own", async (t) => {
  const script = on("ehlo", { reply: "250 ".padEnd(300, "x"), dripMs: 10 });
  const { failure } = await open(t, { script }, {}, { timeouts: { openMs: 300 } });
  assert.equal(failure?.kind, "timeout");
});

test("a port without a listener is a lost connection at connect", async () => {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const target = {
    host: "mx.example.test",
    address: "127.0.0.1",
    port,
    heloName: "posthorn.example",
    tls: "none",
  } as const;
  const opened = await openSession(target);
  // The message goes to the tenant, so it does not contain the address of the server, which may be a relay in a private network.
  assert.deepEqual("failure" in opened && opened.failure, {
    kind: "lost",
    phase: "connect",
    code: "ECONNREFUSED",
    message: "connect ECONNREFUSED",
  });
});

test("STARTTLS is used when offered: EHLO is sent again, and protocol and cipher are reported", async (t) => {
  const opened = await open(t, { tls: { key, cert } });
  const session = ready(opened);
  assert.equal(session.tls?.protocol, "TLSv1.3");
  assert.match(session.tls?.cipher ?? "", /^TLS_/);
  assert.equal(session.tls?.authorized, false);
  assert.equal(session.tls?.authorizationError, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  assert.deepEqual(
    opened.sink.commands.map(({ line, secure }) => [line, secure]),
    [
      ["EHLO posthorn.example", false],
      ["STARTTLS", false],
      ["EHLO posthorn.example", true],
    ],
  );
});

test("verified TLS accepts a certificate for the host's name", async (t) => {
  const session = ready(await open(t, { tls: { key, cert } }, { tls: "verified", tlsCa: ca }));
  assert.deepEqual([session.tls?.authorized, session.tls?.authorizationError], [true, null]);
});

for (const [name, target, message] of [
  ["an unknown authority", { tls: "verified" }, /UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
  ["another name", { tls: "verified", tlsCa: ca, host: "mx.other.test" }, /ALTNAME/],
] as const) {
  test(`verified TLS rejects a certificate with ${name}`, async (t) => {
    const { failure } = await open(t, { tls: { key, cert } }, target);
    assert.equal(failure?.kind, "tls");
    assert.match(failure?.kind === "tls" ? failure.message : "", message);
  });
}

test("a server without STARTTLS is a TLS failure when TLS is required", async (t) => {
  const { failure } = await open(t, {}, { tls: "required" });
  assert.equal(failure?.kind, "tls");
});

test("STARTTLS is not used when the TLS policy is none", async (t) => {
  const opened = await open(t, { tls: { key, cert } }, { tls: "none" });
  assert.equal(ready(opened).tls, null);
});

for (const [name, action] of [
  ["refused with 454", "454 4.7.0 TLS not available"],
  ["followed by garbage", { reply: "220 go", after: "rubbish" }],
  ["followed by a disconnect", { reply: "220 go", after: "close" }],
] as const) {
  test(`STARTTLS ${name} is a TLS failure, which the caller can retry in plaintext`, async (t) => {
    const sinkOptions = { tls: { key, cert }, script: on("starttls", action) };
    const { failure } = await open(t, sinkOptions, {}, { timeouts: { tlsMs: 500 } });
    assert.equal(failure?.kind, "tls", JSON.stringify(failure));
  });
}

test("the reply that refused STARTTLS is in the failure", async (t) => {
  const { failure } = await open(t, { tls: { key, cert }, script: on("starttls", "454 4.7.0 Not now") });
  assert.equal(failure?.kind === "tls" && failure.reply?.line, "454 4.7.0 Not now");
});

for (const [name, injected] of [
  ["a reply", "220 go\r\n250 injected\r\n"],
  ["half a line", "220 go\r\n250-half"],
] as const) {
  test(`${name} injected after the reply to STARTTLS ends the session`, async (t) => {
    const script = on("starttls", { raw: injected, after: "upgrade" });
    const { failure, sink } = await open(t, { tls: { key, cert }, script });
    assert.ok(failure && failure.kind !== "tls", "an injection must not cause a fallback to plaintext");
    assert.equal("phase" in failure && failure.phase, "tls");
    assert.equal(sink.commands.filter((command) => command.line.startsWith("EHLO")).length, 1);
  });
}

test("with implicit TLS every command is encrypted", async (t) => {
  const opened = await open(
    t,
    { tls: { key, cert }, implicitTls: true },
    { implicitTls: true, tls: "verified", tlsCa: ca },
  );
  assert.equal(ready(opened).tls?.authorized, true);
  assert.equal(
    opened.sink.commands.every((command) => command.secure),
    true,
  );
});

const auth = { user: "relay", password: "s3cret" };
for (const mechanisms of ["PLAIN", "LOGIN", "CRAM-MD5 LOGIN PLAIN"]) {
  test(`the client authenticates to a server that offers ${mechanisms}`, async (t) => {
    const opened = await open(t, { tls: { key, cert }, auth: { ...auth, mechanisms } }, { auth });
    ready(opened);
    assert.ok(opened.sink.replies.some((reply) => reply.line === "235 2.7.0 Welcome"));
  });
}

test("refused credentials are a refusal at auth", async (t) => {
  const { failure } = await open(t, { tls: { key, cert }, auth }, { auth: { ...auth, password: "wrong" } });
  assert.deepEqual(failure?.kind === "refused" && [failure.phase, failure.reply.code], ["auth", 535]);
});

test("credentials are sent without TLS only when allowPlaintext is set", async (t) => {
  const { failure, sink } = await open(t, { auth }, { auth });
  assert.equal(failure?.kind, "protocol");
  assert.ok(!sink.commands.some((command) => command.line.startsWith("AUTH")));
  ready(await open(t, { auth }, { auth: { ...auth, allowPlaintext: true } }));
});

test("a server without AUTH PLAIN and LOGIN is a protocol error at auth", async (t) => {
  const { failure } = await open(t, { tls: { key, cert }, auth: { ...auth, mechanisms: "GSSAPI" } }, { auth });
  assert.deepEqual(failure?.kind === "protocol" && failure.phase, "auth");
});

test("an aborted signal ends the opening", async (t) => {
  const stop = new AbortController();
  const opening = open(t, { script: on("ehlo", "silence") }, {}, { signal: stop.signal });
  setImmediate(() => stop.abort());
  assert.equal((await opening).failure?.kind, "aborted");
  assert.equal((await open(t, {}, {}, { signal: AbortSignal.abort() })).failure?.kind, "aborted");
});

test("a session that the server closes while idle becomes unusable", async (t) => {
  const opened = await open(t);
  const session = ready(opened);
  const down = new Promise<void>((resolve) => {
    session.onDown = resolve;
  });
  await opened.sink.close();
  await down;
  assert.equal(session.usable, false);
});

test("a HELO name with a line break is rejected as a TypeError", async () => {
  const target = { host: "x", address: "127.0.0.1", port: 1, heloName: "a\r\nMAIL", tls: "none" } as const;
  await assert.rejects(openSession(target), TypeError);
});
