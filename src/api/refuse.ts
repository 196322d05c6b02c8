/** Refusals that Connect would not word, or would word wrongly: a method that does not exist, bytes that are no message. */
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Request, Response } from "./http.ts";

const grpcUnimplemented = "12";

export function refuseUnknownMethod(request: Request, response: Response, path: string): void {
  const message = `There is no method ${path.slice(0, 200)}. The reference lists what there is.`;
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/grpc")) {
    // A trailers-only answer: the status stands in the header (gRPC over HTTP/2, "Responses").
    response.statusCode = 200;
    response.setHeader("content-type", type);
    response.setHeader("grpc-status", grpcUnimplemented);
    response.setHeader("grpc-message", encodeURIComponent(message));
    response.end();
  } else {
    const body = JSON.stringify({ code: "unimplemented", message });
    response.statusCode = 501;
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", Buffer.byteLength(body));
    response.end(body);
  }
  request.resume();
}

/** Connect takes a binary body that is no message for a fault of the server (500). It is the caller's mistake. */
export async function blameCaller(
  answer: UniversalServerResponse,
  refused: () => void,
): Promise<UniversalServerResponse> {
  if (answer.status !== 500 || answer.body === undefined || answer.header?.has("content-encoding")) return answer;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const { message } = JSON.parse(text) as { message?: string };
  const reason = /^parse binary: (.*)$/s.exec(message ?? "")?.[1];
  if (reason !== undefined) refused();
  const said = `The body is no protobuf message of this method: ${reason}`;
  const body = Buffer.from(reason === undefined ? text : JSON.stringify({ code: "invalid_argument", message: said }));
  answer.header?.set("content-length", String(body.length));
  return { ...answer, status: reason === undefined ? 500 : 400, body: only(body) };
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
