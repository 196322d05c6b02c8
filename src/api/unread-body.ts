/** Requests that are answered before their body has been read: what is left of it, and what becomes of the connection. */
import { lingerMs, type Request, type Response } from "./http.ts";

/** A small rest of a body is read and dropped by Node; a large or endless one ends the connection. */
const droppedBytes = 64 * 1024;

/** A client that is still writing a small body when the connection or the HTTP/2 stream closes loses our answer to the reset: its rest
 * is awaited. */
export async function dropRest(request: Request): Promise<void> {
  if (request.complete || request.destroyed) return;
  if (Number(request.headers["content-length"] ?? 0) > droppedBytes) return;
  await new Promise<void>((resolve) => {
    let seen = 0;
    const timer = setTimeout(resolve, lingerMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    request.on("data", (chunk: Buffer) => {
      seen += chunk.length;
      if (seen > droppedBytes) done();
    });
    request.once("end", done).once("close", done);
  });
}

/** An answer to a request whose body was not read ends the connection: else the peer could go on sending for ever. */
export function closeAfterUnreadBody(request: Request, response: Response): void {
  if (request.complete || "stream" in request) return;
  if (Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= droppedBytes) return;
  response.setHeader("connection", "close");
  // Taken now, and from the answer: a request whose body was given up has let go of its socket.
  const { socket } = response;
  response.once("finish", () => setTimeout(() => socket?.destroy(), lingerMs).unref());
}
