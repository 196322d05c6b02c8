/** Sends raw bytes on a socket and records the response, for requests that no HTTP client would send. */
import { connect, type Socket } from "node:net";

export type RawResponse = {
  /** Everything that the server sent, as latin1. */
  text: string;
  /** The status of the first response, or 0 without a response. */
  status: number;
  /** How the connection ended: closed by the server, closed by the test after the response, or reset. */
  end: "server" | "us" | "reset";
};

export type RawOptions = {
  /** Called with the open socket instead of sending bytes. */
  talk?: (socket: Socket) => Promise<void> | void;
  /** Disconnect as soon as the received text matches this. Default: a complete response head. */
  enough?: RegExp;
  /** Half-close the connection after sending. */
  halfClose?: boolean;
};

/** Sends the bytes and waits for the response or the end of the connection, whichever comes first. */
export async function sendRaw(port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<RawResponse> {
  const { enough = /\r\n\r\n/ } = options;
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    let end: RawResponse["end"] = "server";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!enough.test(text) || end === "us") return;
      end = "us";
      socket.destroy();
    });
    // The server may reset the connection after its response to stop a client that keeps sending.
    socket.on("error", () => (end = "reset"));
    socket.on("close", () => {
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
      resolve({ text, status, end });
    });
    socket.on("connect", () => {
      if (options.talk) void Promise.resolve(options.talk(socket)).catch(() => {});
      else if (options.halfClose) socket.end(bytes);
      else socket.write(bytes);
    });
  });
}

/** Writes up to `most` bytes, until the server closes the connection. Returns the number of bytes written. */
export async function writeUntilClosed(socket: Socket, chunk: Buffer, most: number): Promise<number> {
  let sent = 0;
  while (sent < most && socket.writable) {
    sent += chunk.length;
    if (socket.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      socket.once("drain", resolve);
      socket.once("close", resolve);
    });
  }
  return sent;
}

/** RFC 9113 §4.1: a frame of HTTP/2. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const http2Preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const frames = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
};

/** RFC 7541 §6.2.2 with literal names and values, none longer than 126 octets: no table, no Huffman. */
export function hpack(fields: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  );
}
