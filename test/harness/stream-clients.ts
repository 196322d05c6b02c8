/** Real API clients, each of which reads a stream to its end and returns the result in the same form. */
import { type DescMethodServerStreaming, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import * as node from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { type ForeignName, pathOf } from "./foreign.ts";
import { buf, pythonClient, root, run } from "./rpc-clients.ts";
import { readStream, type StreamForm } from "./streams.ts";

export type StreamResult = { messages: JsonValue[]; code: string; message: string };
export type StreamCall = { url: string; key: string; request: JsonValue };
export type StreamClient = {
  name: string;
  /** A program that may be missing from this machine. */
  needs?: ForeignName;
  read(call: StreamCall): Promise<StreamResult>;
};

const method: DescMethodServerStreaming = EmailService.method.streamEvents;

/** `image` is a file with the contract's descriptors, as buf builds it. */
export function streamClients(image: string): StreamClient[] {
  return [
    plain("JSON lines", "lines"),
    plain("server-sent events", "sse"),
    plain("Connect envelopes by hand", "connect"),
    { name: "curl -N", needs: "curl", read: (call) => withCurl(call, "--http1.1") },
    { name: "curl -N over HTTP/2", needs: "curl", read: (call) => withCurl(call, "--http2-prior-knowledge") },
    { name: "buf curl, Connect", read: (call) => withBuf(call, "--protocol", "connect") },
    { name: "buf curl, gRPC", read: (call) => withBuf(call, "--protocol", "grpc", "--http2-prior-knowledge") },
    { name: "buf curl, gRPC-Web", read: (call) => withBuf(call, "--protocol", "grpcweb") },
    transport("connect-web, JSON", (baseUrl) => web.createConnectTransport({ baseUrl })),
    transport("connect-web, binary", (baseUrl) => web.createConnectTransport({ baseUrl, useBinaryFormat: true })),
    transport("connect-web, gRPC-Web", (baseUrl) => web.createGrpcWebTransport({ baseUrl })),
    transport("connect-node, HTTP/1.1", (baseUrl) => node.createConnectTransport({ baseUrl, httpVersion: "1.1" })),
    transport("connect-node, HTTP/2, gzip", (baseUrl) =>
      node.createConnectTransport({
        baseUrl,
        httpVersion: "2",
        compressMinBytes: 0,
        sendCompression: node.compressionGzip,
        acceptCompression: [node.compressionGzip],
      }),
    ),
    transport("connect-node, gRPC", (baseUrl) => node.createGrpcTransport({ baseUrl })),
    transport("connect-node, gRPC-Web", (baseUrl) => node.createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
    { name: "python3-grpcio", needs: "python3-grpcio", read: (call) => withPython(call, image) },
  ];
}

function plain(name: string, form: StreamForm): StreamClient {
  return {
    name,
    async read({ url, key, request }) {
      const { messages, end } = await readStream(url, { key, form, request: request as Record<string, unknown> });
      return { messages: messages.map((one) => canonical(one as JsonValue)), code: end.code, message: end.message };
    },
  };
}

function transport(name: string, create: (baseUrl: string) => Transport): StreamClient {
  return {
    name,
    async read({ url, key, request }) {
      const client = createClient(EmailService, create(url));
      const messages: JsonValue[] = [];
      try {
        const headers = { authorization: `Bearer ${key}` };
        for await (const message of client.streamEvents(fromJson(method.input, request) as never, { headers }))
          messages.push(toJson(method.output, message));
        return { messages, code: "ok", message: "" };
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        return { messages, code: codeToString(code), message: rawMessage };
      }
    },
  };
}

async function withCurl({ url, key, request }: StreamCall, version: string): Promise<StreamResult> {
  const { stdout } = await run(pathOf("curl"), [
    ...["-sN", version, `${url}/v1.EmailService/StreamEvents`, "-d", JSON.stringify(request)],
    ...["-H", "Content-Type: application/json", "-H", "Connect-Protocol-Version: 1"],
    ...["-H", `Authorization: Bearer ${key}`],
  ]);
  return streamResult(stdout.trim().split("\n"));
}

async function withBuf({ url, key, request }: StreamCall, ...flags: string[]): Promise<StreamResult> {
  const { stdout, stderr } = await run(buf, [
    ...["curl", "--schema", root, ...flags, "-d", JSON.stringify(request)],
    ...["-H", `Authorization: Bearer ${key}`, `${url}/v1.EmailService/StreamEvents`],
  ]);
  // Prints multi-line JSON objects one after another; an error goes to stderr.
  const objects = `${stdout}\n${stderr}`.trim().split(/\n(?=\{)/);
  return streamResult(objects);
}

async function withPython({ url, key, request }: StreamCall, image: string): Promise<StreamResult> {
  const words = [pythonClient, new URL(url).host, image, "v1.EmailService/StreamEvents", JSON.stringify(request), key];
  const { stdout, stderr } = await run(pathOf("python3-grpcio"), words);
  if (stdout === "") throw new Error(stderr);
  const { stream, error } = JSON.parse(stdout) as {
    stream: JsonValue[];
    error?: { code: string; message: string };
  };
  const messages = stream.map(canonical);
  return { messages, code: error?.code ?? "ok", message: error?.message ?? "" };
}

/** Converts JSON texts, the last of which may be an error. */
function streamResult(texts: string[]): StreamResult {
  const objects = texts.map((text) => JSON.parse(text) as { code?: string; message?: string; error?: JsonValue });
  const last = objects.at(-1)!;
  const error = (last.error ?? (typeof last.code === "string" ? last : undefined)) as { code: string; message: string };
  const messages = (error ? objects.slice(0, -1) : objects).map((one) => canonical(one as JsonValue));
  return { messages, code: error?.code ?? "ok", message: error?.message ?? "" };
}

/** Normalizes messages, because clients differ in whether they write unset fields. */
function canonical(json: JsonValue): JsonValue {
  return toJson(method.output, fromJson(method.output, json));
}
