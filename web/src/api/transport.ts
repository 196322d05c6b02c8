/** The Connect transport of the dashboard: calls the API on the page's origin, with the tab's key or in the person's workspace. Asks the
 * person to confirm who they are if a call needs it, and repeats the call. */
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { freshReason, refreshAuthState } from "./auth.ts";
import { repeatAfterConfirmation } from "./confirm.ts";
import { reasonOf } from "./problem.ts";
import { currentKey, currentWorkspace, endSession } from "./session.ts";

const authenticate: Interceptor = (next) => async (request) => {
  const key = currentKey();
  // The sign-in form sets the header itself to test a key before it starts a session.
  const isKeyTest = request.header.has("authorization");
  if (!isKeyTest && key) request.header.set("authorization", `Bearer ${key}`);
  const workspace = currentWorkspace();
  // Operators' methods belong to no workspace; the current one may be the one that was just deleted.
  const isOperators = request.service.name === "OperatorService";
  if (!isKeyTest && !key && !isOperators && workspace) request.header.set("posthorn-workspace", workspace.id);
  try {
    return await next(request);
  } catch (error) {
    if (!isKeyTest) endSessionIfUnauthenticated(error, key);
    // The frame shows how to add one instead of the page.
    if (!isKeyTest && reasonOf(error) === "SECOND_FACTOR_REQUIRED") void refreshAuthState();
    throw error;
  }
};

/** Ends the session when the key was revoked or the session ended elsewhere. The page must not show its data any more. */
export function endSessionIfUnauthenticated(error: unknown, key: string | undefined = currentKey()): void {
  if (ConnectError.from(error).code !== Code.Unauthenticated || key !== currentKey()) return;
  endSession(
    key ? "The server no longer accepts your key. It may have been revoked." : "Your session has ended. Sign in again.",
  );
}

const calls = createConnectTransport({
  baseUrl: location.origin,
  defaultTimeoutMs: 15_000,
  interceptors: [authenticate],
});

/** Not an interceptor: the time that the person needs must not count against the deadline of the call. */
export const transport: Transport = {
  ...calls,
  unary: (...call) =>
    repeatAfterConfirmation(
      () => calls.unary(...call),
      (error) => reasonOf(error) === freshReason,
    ),
};
