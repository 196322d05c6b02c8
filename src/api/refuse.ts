/** Answers a method that the contract does not have, in the protocol the caller speaks. */
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
