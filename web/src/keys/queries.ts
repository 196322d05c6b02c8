/** Tells every list of keys on the page that keys have changed. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { queryClient } from "../api/query-client.ts";

export function keysChanged(): Promise<void> {
  const queryKey = createConnectQueryKey({ schema: KeyService.method.listKeys, cardinality: undefined });
  return queryClient.invalidateQueries({ queryKey });
}
