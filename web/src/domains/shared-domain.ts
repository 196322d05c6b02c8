/** What a link shows of a domain. The call needs no session: the token of the link is its only proof. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { type SharedDomain, SharedDomainSchema } from "../../../src/gen/v1/domain_pb.ts";

const refreshMs = 5_000;

export function useSharedDomain(token: string) {
  return useQuery({
    queryKey: ["shared-domain", token],
    queryFn: ({ signal }) => fetchSharedDomain(token, signal),
    gcTime: 0,
    // A link that does not work stays so; everything else may pass.
    retry: (count, error) => count < 3 && !isGone(error),
    refetchInterval: ({ state }) => (isGone(state.error) ? false : refreshMs),
  });
}

export function isGone(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.NotFound;
}

async function fetchSharedDomain(token: string, signal: AbortSignal): Promise<SharedDomain> {
  const response = await fetch("/shared/domain", {
    method: "POST",
    // The page shows the same to everyone who has the link, signed in or not.
    credentials: "omit",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
    signal,
  });
  const body = (await response.json()) as JsonValue;
  if (response.ok) return fromJson(SharedDomainSchema, body, { ignoreUnknownFields: true });
  const { message } = body as { message?: string };
  throw new ConnectError(
    message ?? `The server returned HTTP ${response.status}.`,
    response.status === 404 ? Code.NotFound : Code.Unavailable,
  );
}
