/** How the dashboard calls the API: Connect's JSON on the page's own origin, with the tab's key or in the person's workspace. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { currentKey, currentWorkspace, endSession } from "./session.ts";

const asCaller: Interceptor = (next) => async (request) => {
  const key = currentKey();
  // A key that is only being tried is none of the session's.
  const isTried = request.header.has("authorization");
  if (!isTried && key) request.header.set("authorization", `Bearer ${key}`);
  const workspace = currentWorkspace();
  if (!isTried && !key && workspace) request.header.set("posthorn-workspace", workspace.id);
  try {
    return await next(request);
  } catch (error) {
    if (!isTried) leaveIfRefused(error, key);
    throw error;
  }
};

/** The key was revoked or the session ended, perhaps by somebody else: nothing on the page is theirs to see any more. */
export function leaveIfRefused(error: unknown, key: string | undefined = currentKey()): void {
  if (ConnectError.from(error).code !== Code.Unauthenticated || key !== currentKey()) return;
  endSession(
    key ? "The server no longer accepts your key. It may have been revoked." : "Your session has ended. Sign in again.",
  );
}

export const transport = createConnectTransport({
  baseUrl: location.origin,
  defaultTimeoutMs: 15_000,
  interceptors: [asCaller],
});
