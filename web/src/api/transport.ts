/** How the dashboard calls the API: Connect's JSON on the page's own origin, with the session's key. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { queryClient } from "./query-client.ts";
import { currentKey, signOut } from "./session.ts";

const withKey: Interceptor = (next) => async (request) => {
  const key = currentKey();
  if (!request.header.has("authorization") && key) request.header.set("authorization", `Bearer ${key}`);
  const isSession = key !== undefined && request.header.get("authorization") === `Bearer ${key}`;
  try {
    return await next(request);
  } catch (error) {
    // The key was revoked, perhaps by somebody else: nothing on the page is theirs to see any more.
    if (isSession && ConnectError.from(error).code === Code.Unauthenticated) {
      signOut("The server no longer accepts your key. It may have been revoked.");
      queryClient.clear();
    }
    throw error;
  }
};

export const transport = createConnectTransport({
  baseUrl: location.origin,
  defaultTimeoutMs: 15_000,
  interceptors: [withKey],
});
