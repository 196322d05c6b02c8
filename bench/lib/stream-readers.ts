/** Readers of one event stream each, in their own process: node stream-readers.ts PORT KEY COUNT. They hold Connect's JSON streams over
 * HTTP/1.1 and check that the events arrive in order and without a gap. Only the first reader parses them. Started by fanout.ts. */
import { connect } from "node:net";
import { serveCounts } from "./counting-process.ts";

const [port, key, count] = process.argv.slice(2) as [string, string, string];
/** All readers share one buffer for what the socket has read, which costs them no allocation. */
const shared = Buffer.allocUnsafe(256 * 1024);

/** The start of an envelope: five bytes, `{"cursor":"`, and the digits of the cursor. */
const digitsAt = 5 + 11;
const startBytes = digitsAt + 20;

const openAtOnce = 50;

let received = 0;
let lastBody = "";

for (let opened = 0; opened < Number(count); opened += openAtOnce)
  await Promise.all(Array.from({ length: openAtOnce }, (_, i) => open(opened + i === 0)));
serveCounts(Number(port), () => ({ received, lastBody }));

/** Resolves with the first message, which has the cursor only. */
function open(parses: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const onData = createParser({
      onCursor: () => resolve(),
      onEvent(text) {
        received += 1;
        if (text) lastBody = text;
      },
      parses,
    });
    const socket = connect({
      port: Number(port),
      host: "127.0.0.1",
      onread: {
        buffer: shared,
        callback(bytes) {
          onData(bytes);
          return true;
        },
      },
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("a stream was closed")));
    const request = Buffer.from(`\0\0\0\0\x13{"cursor":"latest"}`, "latin1");
    const head = [
      ...["POST /v1.EmailService/StreamEvents HTTP/1.1", `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${key}`],
      ...["Content-Type: application/connect+json", "Connect-Protocol-Version: 1", `Content-Length: ${request.length}`],
    ];
    socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), request]));
  });
}

type Parser = { parses: boolean; onCursor(): void; onEvent(text: string | undefined): void };

/** Finds the envelopes in the chunks of the response, and the number in each, without a copy of the bytes. */
function createParser({ parses, onCursor, onEvent }: Parser): (length: number) => void {
  let head = "";
  let inBody = false;
  let chunkLine = "";
  /** What is left of the current chunk, with the line break after it. */
  let chunkBytes = 0;
  const start = Buffer.alloc(startBytes);
  let startLength = 0;
  let envelopeBytes = 0;
  let text: Buffer[] = [];
  let number = -1;
  let isEvent = false;

  function readPayload(from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (envelopeBytes === 0) {
        // Byte by byte, because the start may arrive in pieces.
        start[startLength++] = shared[at++]!;
        if (startLength < 5) continue;
        const size = start.readUInt32BE(1);
        if (startLength < Math.min(startBytes, 5 + size)) continue;
        envelopeBytes = 5 + size - startLength;
        if (parses) text.push(Buffer.from(start.subarray(5, startLength)));
        readNumber();
        startLength = 0;
        if (envelopeBytes > 0) continue;
      }
      const bytes = Math.min(envelopeBytes, to - at);
      if (parses && bytes > 0) text.push(Buffer.from(shared.subarray(at, at + bytes)));
      envelopeBytes -= bytes;
      at += bytes;
      if (envelopeBytes === 0) endEnvelope();
    }
  }

  function readNumber(): void {
    if (start[0] !== 0) throw new Error("a stream has ended");
    let read = 0;
    for (let i = digitsAt; start[i] !== 0x22; i++) read = 10 * read + start[i]! - 48;
    isEvent = number >= 0 && read !== number;
    if (isEvent && read !== number + 1) throw new Error(`event ${read} follows event ${number}`);
    number = read;
  }

  function endEnvelope(): void {
    const whole = parses ? Buffer.concat(text).toString() : undefined;
    text = [];
    if (!isEvent) return onCursor();
    if (whole) {
      const { cursor, event } = JSON.parse(whole) as { cursor: string; event: { id: string } };
      if (cursor !== String(number) || !event.id.startsWith("evt_")) throw new Error(`not event ${number}: ${whole}`);
    }
    onEvent(whole);
  }

  return (length) => {
    let at = 0;
    if (!inBody) {
      head += shared.toString("latin1", 0, length);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(head);
      inBody = true;
      at = length - (head.length - end - 4);
    }
    while (at < length) {
      if (chunkBytes === 0) {
        const byte = shared[at++]!;
        if (byte !== 10) chunkLine += String.fromCharCode(byte);
        else {
          chunkBytes = Number.parseInt(chunkLine, 16) + 2;
          chunkLine = "";
        }
        continue;
      }
      const inChunk = Math.min(chunkBytes, length - at);
      const payload = Math.max(0, Math.min(chunkBytes - 2, length - at));
      readPayload(at, at + payload);
      chunkBytes -= inChunk;
      at += inChunk;
    }
  };
}
