/** Writes given messages to every connection, in its own process: node plain-fanout.ts TEXT. It answers each connection as the program
 * answers a stream, and knows nothing else of HTTP. The parent process sends how many events to write, and how many at a time; it gets "written". Started by fanout.ts. */
import { type AddressInfo, createServer, type Socket } from "node:net";

const [before, after] = process.argv[2]!.split(":NUMBER:") as [string, string];
const sockets: Socket[] = [];
let number = 0;

const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write(Buffer.concat([Buffer.from(head), chunkOf([envelopeOf(`{"cursor":"${number}"}`)])]));
    sockets.push(socket);
  });
});

process.on("message", ({ events, atOnce }: { events: number; atOnce: number }) => {
  for (let left = events; left > 0; left -= atOnce) {
    const size = Math.min(left, atOnce);
    // The same bytes for all sockets.
    const bytes = chunkOf(Array.from({ length: size }, () => envelopeOf(`${before}${++number}${after}`)));
    for (const socket of sockets) socket.write(bytes);
  }
  process.send!("written");
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", 1024, () => process.send!((server.address() as AddressInfo).port));

function envelopeOf(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

function chunkOf(envelopes: Buffer[]): Buffer {
  const payload = Buffer.concat(envelopes);
  return Buffer.concat([Buffer.from(`${payload.length.toString(16)}\r\n`), payload, Buffer.from("\r\n")]);
}
