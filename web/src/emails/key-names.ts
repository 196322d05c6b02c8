/** The names of the API keys, for the email page and the filter of the log. */
import { useQuery } from "@connectrpc/connect-query";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";

/** Undefined while loading, and for callers that may not list keys. */
export function useKeys(enabled = true): Key[] | undefined {
  const { data } = useQuery(
    KeyService.method.listKeys,
    { pageSize: 100 },
    { enabled, staleTime: 60_000, retry: false },
  );
  return data?.data;
}
