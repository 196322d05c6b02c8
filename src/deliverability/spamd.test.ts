import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { patienceMs } from "../../test/harness/wait.ts";
import { askSpamd, readSpamdAnswer } from "./spamd.ts";

const report = `Spam detection software has identified this email.

Content analysis details:   (1002.8 points, 5.0 required)

 pts rule name              description
---- ---------------------- --------------------------------------------------
 2.7 MISSING_DATE           Missing Date: header
-0.0 NO_RELAYS              Informational: message was not relayed via
                            SMTP
 1000 GTUBE                 BODY: Generic Test for Unsolicited Bulk Email
`;

test("an answer has the score, the threshold and the rules with their descriptions", () => {
  const answer = `SPAMD/1.1 0 EX_OK\r\nContent-length: ${report.length}\r\nSpam: True ; 1002.8 / 5.0\r\n\r\n${report}`;
  assert.deepEqual(readSpamdAnswer(answer), {
    filter: "SpamAssassin",
    score: 1002.8,
    threshold: 5,
    isSpam: true,
    rules: [
      { name: "MISSING_DATE", score: 2.7, description: "Missing Date: header" },
      { name: "NO_RELAYS", score: -0, description: "Informational: message was not relayed via SMTP" },
      { name: "GTUBE", score: 1000, description: "BODY: Generic Test for Unsolicited Bulk Email" },
    ],
  });
});

test("other texts are not answers", () => {
  for (const text of [
    "",
    "SPAMD/1.5 76 Bad header line",
    "HTTP/1.1 200 OK\r\n\r\nSpam: True ; 1 / 5",
    "SPAMD/1.1 0 EX_OK\r\n\r\n",
    `SPAMD/1.1 0 EX_OK\r\nSpam: True ; ${"9".repeat(400)} / 5.0\r\n\r\n`,
  ])
    assert.equal(readSpamdAnswer(text), undefined);
});

/** A server that behaves badly. */
async function withServer(serve: (socket: Socket) => void, work: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await work(port).finally(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

test("a server that is silent, floods or hangs up ends in an error", async () => {
  const ask = (port: number, signal = AbortSignal.timeout(patienceMs)) =>
    askSpamd({ host: "127.0.0.1", port }, Buffer.from("Subject: x\r\n\r\n"), signal);
  await withServer(
    () => {},
    async (port) => assert.rejects(ask(port, AbortSignal.timeout(200)), /in time/),
  );
  await withServer(
    (socket) => socket.write(Buffer.alloc(300 * 1024, "x")),
    async (port) => assert.rejects(ask(port), /too long/),
  );
  await withServer(
    (socket) => socket.end(),
    async (port) => assert.rejects(ask(port), /spamd answers/),
  );
});
