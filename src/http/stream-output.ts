/** How the messages of a stream look on the wire. A handler that sends many messages to many clients encodes them once per format, and
 * passes the bytes to the stream's writer (answer-stream.ts) in place of a message. Connect writes the first message and the end. */
import { type DescMessage, type MessageShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import type { Compression, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { messageIn } from "./plain-stream.ts";

export type StreamForm = "lines" | "sse" | "json envelopes" | "binary envelopes";
/** The form, and the compression of large messages that the client accepts. */
export type StreamFormat = { form: StreamForm; compression: string | undefined };

export type StreamOutput = {
  /** Known when the handler continues after its first message. */
  format(): StreamFormat;
  /** Sends these bytes in place of the handler's next message. Calls `taken` when the client has taken them or has disconnected. */
  replaceNext(bytes: Uint8Array, taken: () => void): void;
  /** Sends whole messages at once, while the handler waits and has no message underway. False: the client has not taken them, and the handler
   * must wait until `drained`. */
  push(bytes: SharedBytes): boolean;
  /** Resolves when the client has taken what was pushed, when it has disconnected, or when it reads too slowly. */
  drained(): Promise<void>;
};

/** Bytes that many streams send. */
export type SharedBytes = {
  bytes: Uint8Array;
  /** The same as a chunk of HTTP/1.1 (RFC 9112 §7.1). */
  chunk(): Uint8Array;
};

export function shareBytes(bytes: Uint8Array): SharedBytes {
  let chunk: Uint8Array | undefined;
  return {
    bytes,
    chunk() {
      chunk ??= Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
      return chunk;
    },
  };
}

export const streamOutputKey = createContextKey<StreamOutput | undefined>(undefined, { description: "stream output" });

/** Responses contain unset fields too, so that a person with curl sees every documented field. */
export const jsonWriteOptions = { alwaysEmitImplicit: true };

/** Envelopes of Connect, gRPC and gRPC-Web differ in the end of the stream only. */
export function formatOf({ header }: UniversalServerResponse): StreamFormat {
  const type = header?.get("content-type") ?? "";
  if (type.startsWith("application/x-ndjson")) return { form: "lines", compression: undefined };
  if (type.startsWith("text/event-stream")) return { form: "sse", compression: undefined };
  const compression = header?.get("connect-content-encoding") ?? header?.get("grpc-encoding") ?? undefined;
  return { form: type.includes("json") ? "json envelopes" : "binary envelopes", compression };
}

/** One message as a stream of this form sends it, not compressed. */
export function encodeMessage<D extends DescMessage>(desc: D, message: MessageShape<D>, form: StreamForm): Uint8Array {
  if (form === "binary envelopes") return envelope(0, toBinary(desc, message));
  const text = toJsonString(desc, message, jsonWriteOptions);
  return form === "json envelopes" ? envelope(0, Buffer.from(text)) : Buffer.from(messageIn(form, text));
}

const headBytes = 5;
/** Connect's own limit: a smaller message is sent as it is. */
const compressMinBytes = 1024;
const compressedFlag = 1;
const compressions = new Map<string, Compression>([compressionGzip, compressionBrotli].map((one) => [one.name, one]));

export function isCompressible(encoded: Uint8Array, { compression }: StreamFormat): boolean {
  return compression !== undefined && compressions.has(compression) && encoded.length - headBytes >= compressMinBytes;
}

export async function compressEnvelope(encoded: Uint8Array, { compression }: StreamFormat): Promise<Uint8Array> {
  const data = await compressions.get(compression!)!.compress(encoded.subarray(headBytes) as Uint8Array<ArrayBuffer>);
  return envelope(compressedFlag, data);
}

function envelope(flags: number, data: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(headBytes + data.length);
  bytes[0] = flags;
  bytes.writeUInt32BE(data.length, 1);
  bytes.set(data, headBytes);
  return bytes;
}
