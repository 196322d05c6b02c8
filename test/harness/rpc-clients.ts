/** Real API clients, each of which makes one unary call and returns the result in the same form. */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  type DescMethodUnary,
  type DescService,
  fromBinary,
  fromJson,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import * as node from "@connectrpc/connect-node";
import * as web from "@connectrpc/connect-web";
import { BadRequestSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { type ForeignName, pathOf } from "./foreign.ts";
import { patienceMs } from "./wait.ts";

/** The response as canonical JSON, or the error as the caller sees it. */
export type CallResult = { ok: JsonValue } | { error: { code: string; message: string; violations: JsonValue } };

export type Call = { url: string; method: DescMethodUnary; request: JsonValue; key: string | undefined };

export type RpcClient = {
  name: string;
  /** A program that may be missing from this machine. */
  needs?: ForeignName;
  call(call: Call): Promise<CallResult>;
};

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
export const pythonClient = fileURLToPath(new URL("./grpc_client.py", import.meta.url));

/** `image` is a file with the contract's descriptors, as buf builds it. */
export function rpcClients(image: string): RpcClient[] {
  return [
    { name: "curl", needs: "curl", call: (call) => withCurl(call, "--http1.1") },
    { name: "curl over HTTP/2", needs: "curl", call: (call) => withCurl(call, "--http2-prior-knowledge") },
    { name: "buf curl, Connect", call: (call) => withBuf(call, "--protocol", "connect") },
    { name: "buf curl, gRPC", call: (call) => withBuf(call, "--protocol", "grpc", "--http2-prior-knowledge") },
    { name: "buf curl, gRPC-Web", call: (call) => withBuf(call, "--protocol", "grpcweb") },
    transport("connect-web, JSON", (baseUrl) => web.createConnectTransport({ baseUrl })),
    transport("connect-web, binary", (baseUrl) => web.createConnectTransport({ baseUrl, useBinaryFormat: true })),
    transport("connect-web, gRPC-Web", (baseUrl) => web.createGrpcWebTransport({ baseUrl })),
    transport("connect-node, HTTP/1.1", (baseUrl) => node.createConnectTransport({ baseUrl, httpVersion: "1.1" })),
    transport("connect-node, HTTP/2, gzip", (baseUrl) =>
      node.createConnectTransport({
        baseUrl,
        httpVersion: "2",
        sendCompression: node.compressionGzip,
        compressMinBytes: 0,
      }),
    ),
    transport("connect-node, gRPC", (baseUrl) => node.createGrpcTransport({ baseUrl })),
    transport("connect-node, gRPC-Web", (baseUrl) => node.createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
    { name: "python3-grpcio", needs: "python3-grpcio", call: (call) => withPython(call, image) },
  ];
}

export function buildImage(file: string): void {
  const built = spawnSync(buf, ["build", "-o", file], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`buf build: ${built.stderr}`);
}

function transport(name: string, create: (baseUrl: string) => Transport): RpcClient {
  return {
    name,
    async call({ url, method, request, key }) {
      const client = createClient(method.parent as DescService, create(url)) as Record<
        string,
        (request: unknown, options: { headers: Record<string, string> }) => Promise<never>
      >;
      try {
        const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
        const answer = await client[method.localName]!(fromJson(method.input, request), { headers });
        return { ok: toJson(method.output, answer) };
      } catch (error) {
        const failure = ConnectError.from(error);
        const violations = failure.findDetails(BadRequestSchema).map((detail) => toJson(BadRequestSchema, detail));
        const { code, rawMessage } = failure;
        return { error: { code: codeToString(code), message: rawMessage, violations } };
      }
    },
  };
}

async function withCurl({ url, method, request, key }: Call, version: string): Promise<CallResult> {
  const { stdout } = await run(pathOf("curl"), [
    ...["-s", version, `${url}/${method.parent.typeName}/${method.name}`, "-d", JSON.stringify(request)],
    ...["-H", "Content-Type: application/json", "-H", "Connect-Protocol-Version: 1"],
    ...(key ? ["-H", `Authorization: Bearer ${key}`] : []),
  ]);
  return callResult(method, JSON.parse(stdout) as JsonValue);
}

async function withBuf({ url, method, request, key }: Call, ...flags: string[]): Promise<CallResult> {
  const { stdout, stderr } = await run(buf, [
    ...["curl", "--schema", root, ...flags, "-d", JSON.stringify(request)],
    ...(key ? ["-H", `Authorization: Bearer ${key}`] : []),
    `${url}/${method.parent.typeName}/${method.name}`,
  ]);
  return callResult(method, JSON.parse(stdout || stderr) as JsonValue);
}

async function withPython({ url, method, request, key }: Call, image: string): Promise<CallResult> {
  const name = `${method.parent.typeName}/${method.name}`;
  const address = new URL(url).host;
  const { stdout, stderr } = await run(pathOf("python3-grpcio"), [
    pythonClient,
    address,
    image,
    name,
    JSON.stringify(request),
    ...(key ? [key] : []),
  ]);
  if (stdout === "") throw new Error(stderr);
  const { ok, error } = JSON.parse(stdout) as {
    ok?: JsonValue;
    error?: { code: string; message: string; details: JsonValue };
  };
  if (!error) return { ok: canonical(method, ok!) };
  return { error: { code: error.code, message: error.message, violations: error.details } };
}

/** Converts a response or an error object of the Connect protocol. */
function callResult(method: DescMethodUnary, json: JsonValue): CallResult {
  const { code, message, details } = json as { code?: string; message?: string; details?: { value: string }[] };
  if (typeof code !== "string") return { ok: canonical(method, json) };
  const violations = (details ?? []).map(({ value }) =>
    toJson(BadRequestSchema, fromBinary(BadRequestSchema, base64Decode(value))),
  );
  return { error: { code, message: message ?? "", violations } };
}

/** Normalizes responses, because clients differ in whether they write unset fields. */
function canonical(method: DescMethodUnary, json: JsonValue): JsonValue {
  return toJson(method.output, fromJson(method.output, json));
}

/** Runs a client program. A failed call is a result here: the program reports it with its exit code and on standard error. */
export function run(file: string, args: string[]): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd: root, timeout: patienceMs }, (error, stdout, stderr) => {
      if (error && stdout === "" && stderr === "") reject(error);
      else resolve({ stdout, stderr });
    });
  });
}
