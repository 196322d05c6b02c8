/** Attachments from streams, files and URLs: content, names and types as the server receives them, limits, and faults. */
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { EmailService, type SendEmailRequest as Wire } from "../../src/gen/v1/email_pb.ts";
import { until } from "../../test/harness/wait.ts";
import type { AnyAttachment, PosthornError } from "../src/index.ts";
import { type Peer, rejection, startPeer } from "./peer.ts";

let peer: Peer;
let received: Wire[] = [];
let folder: string;
let web: Server;
let webUrl: string;
let openDownloads = 0;
const seenHeaders: Record<string, unknown>[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-attachments-"));
  peer = await startPeer({
    routes: (router) =>
      router.service(EmailService, {
        sendEmail(request) {
          received.push(request);
          return { id: "em_1" };
        },
        sendEmailBatch: ({ emails }) => {
          received.push(...emails);
          return {};
        },
      }),
  });
  web = createServer((request, response) => {
    seenHeaders.push(request.headers);
    const path = new URL(request.url!, "http://web").pathname;
    if (path === "/to-file")
      response.writeHead(302, { location: pathToFileURL(join(folder, "secret.txt")).href }).end();
    else if (path === "/to-data") response.writeHead(302, { location: "data:text/plain,secret" }).end();
    else if (path === "/moved") response.writeHead(301, { location: "/files/Rechnung%20%C3%A4.pdf" }).end();
    else if (path === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (path === "/missing.pdf") response.writeHead(404).end("no");
    else if (path === "/broken.pdf") response.writeHead(503).end("no");
    else if (path === "/cut.pdf") {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    } else if (path === "/endless.bin") {
      openDownloads += 1;
      response.on("close", () => (openDownloads -= 1));
      const more = () => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      more();
    } else if (path === "/silent.bin") {
      openDownloads += 1;
      response.on("close", () => (openDownloads -= 1));
      response.writeHead(200).flushHeaders();
    } else {
      const type = path.endsWith(".pdf") ? "binary/octet-stream" : 'Text/CSV; header=present; charset="x"';
      response.writeHead(200, { "content-type": type }).end("file of the web");
    }
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  await writeFile(join(folder, "receipt ä.pdf"), "12.00 EUR");
  await writeFile(join(folder, "secret.txt"), "secret");
});

after(async () => {
  await peer.close();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  await rm(folder, { recursive: true });
});

const base = { from: "shop@example.com", to: "ada@example.net", subject: "Hello" };

/** Sends one attachment. Returns it as the server received it. */
async function attached(attachment: AnyAttachment): Promise<{ text: string; filename: string; contentType: string }> {
  received = [];
  await peer.client.emails.send({ ...base, attachments: [attachment] });
  const { base64Content, filename, contentType } = received[0]!.attachments[0]!;
  return { text: Buffer.from(base64Content, "base64").toString(), filename, contentType };
}

async function problem(attachment: unknown, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const requestsBefore = peer.requests.length;
  const sending = peer.client.emails.send({ ...base, attachments: [attachment as AnyAttachment] }, options);
  const error = await rejection<PosthornError>(sending);
  assert.equal(error.name, "PosthornError", String(error));
  assert.equal(peer.requests.length, requestsBefore, "nothing was sent");
  return error;
}

test("a stream of Node or the web, a generator or a Blob's stream is read to its end", async () => {
  async function* chunks() {
    yield "12.00";
    yield new Uint8Array([32]);
    yield Buffer.from("EUR");
  }
  const contents = [
    createReadStream(join(folder, "receipt ä.pdf"), { highWaterMark: 2 }),
    createReadStream(join(folder, "receipt ä.pdf"), { encoding: "utf8" }),
    Readable.from(["12.00", " EUR"]),
    Readable.toWeb(Readable.from([Buffer.from("12.00 EUR")])) as ReadableStream,
    new Blob(["12.00 EUR"]).stream(),
    chunks(),
  ];
  for (const content of contents) {
    const expected = { text: "12.00 EUR", filename: "receipt.pdf", contentType: "application/pdf" };
    assert.deepEqual(
      await attached({ content: content as AsyncIterable<Uint8Array>, filename: "receipt.pdf" }),
      expected,
    );
  }
});

test("a file is read by its path or file URL, with its name and the type of its name", async () => {
  const path = join(folder, "receipt ä.pdf");
  for (const one of [path, pathToFileURL(path), pathToFileURL(path).href]) {
    const expected = { text: "12.00 EUR", filename: "receipt ä.pdf", contentType: "application/pdf" };
    assert.deepEqual(await attached({ path: one }), expected);
  }
  const renamed = await attached({ path, filename: "b.txt", contentType: "text/x-own" });
  assert.deepEqual([renamed.filename, renamed.contentType], ["b.txt", "text/x-own"]);
});

test("a URL is downloaded over redirects, without the key, with its name and type", async () => {
  const pdf = { text: "file of the web", filename: "Rechnung ä.pdf", contentType: "application/pdf" };
  assert.deepEqual(await attached({ url: `${webUrl}/files/Rechnung%20%C3%A4.pdf?token=1` }), pdf);
  assert.deepEqual(await attached({ url: new URL("/moved", webUrl), filename: "Rechnung ä.pdf" }), pdf);
  assert.equal((await attached({ url: `${webUrl}/list` })).contentType, "Text/CSV");
  for (const headers of seenHeaders) assert.equal(headers.authorization, undefined);
  assert.match(String(seenHeaders[0]!["user-agent"]), /^posthorn-sdk\//);
  const data = await attached({ url: "data:text/plain;base64,SGVsbG8=", filename: "hello" });
  assert.deepEqual(data, { text: "Hello", filename: "hello", contentType: "text/plain" });
});

test("the type is that of the file name if nothing else says it", async () => {
  const content = Buffer.from("x");
  assert.equal((await attached({ content, filename: "photo.PNG" })).contentType, "image/png");
  assert.equal((await attached({ content, filename: "data" })).contentType, "");
  assert.equal(
    (await attached({ content: new Blob(["x"], { type: "image/gif" }), filename: "a.png" })).contentType,
    "image/gif",
  );
});

test("wrong attachments are rejected with the field and the fix", async () => {
  const path = join(folder, "secret.txt");
  await mkdir(join(folder, "sub"), { recursive: true });
  const ended = Readable.from(["x"]);
  for await (const _ of ended);
  const locked = new Blob(["x"]).stream();
  locked.getReader();
  const failing = new Readable({ read: () => failing.destroy(new Error("disk fault")) });
  const wrong: [attachment: unknown, field: string, message: RegExp][] = [
    ["receipt.pdf", "attachments[0]", /must be an object/],
    [{}, "attachments[0].content", /pass content, path or url/],
    [{ filename: "a", content: null }, "attachments[0].content", /is required/],
    [{ content: "aGk=", path }, "attachments[0].path", /cannot be combined with content/],
    [{ path, url: webUrl }, "attachments[0].url", /cannot be combined with path/],
    [{ path: "", filename: "a" }, "attachments[0].path", /local file/],
    [{ path: "https://example.test/a.pdf" }, "attachments[0].path", /Use url/],
    [{ path: new URL("https://example.test/a.pdf") }, "attachments[0].path", /Use url/],
    [{ path: 7 }, "attachments[0].path", /local file/],
    [{ path: join(folder, "none") }, "attachments[0].path", /cannot be read: ENOENT/],
    [{ path: join(folder, "sub") }, "attachments[0].path", /is no regular file/],
    ...(process.platform === "linux"
      ? [[{ path: "/dev/zero" }, "attachments[0].path", /no regular file/] as never]
      : []),
    [{ path: "a\0b" }, "attachments[0].path", /cannot be read/],
    [{ url: pathToFileURL(path).href }, "attachments[0].url", /Use path for local files/],
    [{ url: "ftp://example.test/a" }, "attachments[0].url", /http, https or data/],
    [{ url: "receipt.pdf" }, "attachments[0].url", /http, https or data/],
    [{ url: "http://me:secret@127.0.0.1/a" }, "attachments[0].url", /user name or password$/],
    [{ url: "data:text/plain,x" }, "attachments[0].filename", /is required/],
    [{ url: `${webUrl}/` }, "attachments[0].filename", /is required/],
    [{ url: `${webUrl}/missing.pdf?token=secret` }, "attachments[0].url", /answered HTTP 404$/],
    [{ url: `${webUrl}/to-file`, filename: "a" }, "attachments[0].url", /cannot be downloaded/],
    [{ url: `${webUrl}/to-data`, filename: "a" }, "attachments[0].url", /cannot be downloaded/],
    [{ url: `${webUrl}/loop`, filename: "a" }, "attachments[0].url", /cannot be downloaded/],
    [{ url: `${webUrl}/broken.pdf` }, "attachments[0].url", /answered HTTP 503$/],
    [{ url: `${webUrl}/cut.pdf` }, "attachments[0].url", /downloaded only in part/],
    [{ url: "http://127.0.0.1:1/a.pdf" }, "attachments[0].url", /cannot be downloaded from 127\.0\.0\.1:1/],
    [{ content: Promise.resolve(Buffer.from("x")), filename: "a" }, "attachments[0].content", /await it first/],
    [{ content: new Response("x"), filename: "a" }, "attachments[0].content", /not a Response/],
    [{ content: { data: [1] }, filename: "a" }, "attachments[0].content", /must be a Buffer/],
    [{ content: ended, filename: "a" }, "attachments[0].content", /already read/],
    [{ content: locked, filename: "a" }, "attachments[0].content", /already read/],
    [{ content: failing, filename: "a" }, "attachments[0].content", /cannot be read: disk fault/],
    [{ content: Readable.from([{ a: 1 }]), filename: "a" }, "attachments[0].content", /has an object/],
    [{ content: "aGk=", filename: 7 }, "attachments[0].filename", /must be a string/],
    [{ content: "aGk=", filename: "a", cid: "logo" }, "attachments[0].cid", /use contentId/],
    [{ href: webUrl, filename: "a" }, "attachments[0].href", /use url/],
  ];
  for (const [attachment, field, message] of wrong) {
    const error = await problem(attachment);
    assert.equal(error.violations[0]?.field, field, error.message);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /secret/);
  }
});

test("the limit counts all streams, files and URLs of a call, and stops the source", async () => {
  const client = peer.connect({ maxAttachmentBytes: 1_000_000 });
  const endless = new Readable({ read: () => endless.push(Buffer.alloc(65_536)) });
  const zeros = async function* () {
    for (;;) yield new Uint8Array(65_536);
  };
  const half = () => ({ content: Readable.from([Buffer.alloc(600_000)], { objectMode: false }), filename: "half" });
  await writeFile(join(folder, "large.bin"), Buffer.alloc(1_000_001));
  const large: AnyAttachment[][] = [
    [{ content: endless, filename: "a" }],
    [{ content: zeros(), filename: "a" }],
    [{ url: `${webUrl}/endless.bin` }],
    [{ path: join(folder, "large.bin") }],
    [half(), half()],
  ];
  for (const attachments of large) {
    const error = await rejection<PosthornError>(client.emails.send({ ...base, attachments }));
    assert.equal(error.code, "invalid_argument", error.message);
    assert.match(error.message, /larger than 1000000 bytes/);
  }
  const batch = [
    { ...base, attachments: [half()] },
    { ...base, attachments: [half()] },
  ];
  const error = await rejection<PosthornError>(client.emails.sendBatch(batch));
  assert.match(error.violations[0]!.field, /^emails\[[01]\]\.attachments\[0\]\.content$/);
  assert.ok(endless.destroyed);
  await until("the download to be closed", () => openDownloads === 0);
  await client.emails.send({ ...base, attachments: [half()] });
});

test("reading ends with the call's timeout, an abort, or the failure of another attachment", async () => {
  const never = () => new PassThrough();
  const streams = [never(), never(), never()];
  const late = await problem({ content: streams[0], filename: "a" }, { timeoutMs: 30 });
  assert.equal(late.code, "deadline_exceeded");
  assert.match(late.message, /^attachments\[0\]\.content: was not read within the time limit/);
  const slow = await problem({ url: `${webUrl}/silent.bin` }, { timeoutMs: 200 });
  assert.equal(slow.code, "deadline_exceeded");
  const controller = new AbortController();
  const waiting = problem({ content: streams[1], filename: "a" }, { signal: controller.signal });
  controller.abort();
  assert.equal((await waiting).code, "canceled");
  assert.equal((await problem({ url: webUrl, filename: "a" }, { signal: AbortSignal.abort() })).code, "canceled");
  const attachments = [{ content: streams[2]!, filename: "a" }, { path: join(folder, "none") }];
  const error = await rejection<PosthornError>(peer.client.emails.send({ ...base, attachments }));
  assert.equal(error.violations[0]!.field, "attachments[1].path");
  assert.deepEqual(
    streams.map(({ destroyed }) => destroyed),
    [true, true, true],
  );
  await until("the download to be closed", () => openDownloads === 0);
});

test("one stream in two attachments is an error, not two halves", async () => {
  const content = Readable.from([Buffer.alloc(10), Buffer.alloc(10)], { objectMode: false });
  const attachments = [
    { content, filename: "a" },
    { content, filename: "b" },
  ];
  const error = await rejection<PosthornError>(peer.client.emails.send({ ...base, attachments }));
  assert.match(error.message, /^attachments\[1\]\.content: is a stream that was already read/);
});
