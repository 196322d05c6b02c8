/** Tells everything on the page that shows answers of a method that they have changed. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { queryClient } from "./query-client.ts";

export async function changed(...methods: DescMethodUnary[]): Promise<void> {
  await Promise.all(
    methods.map((schema) =>
      queryClient.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: undefined }) }),
    ),
  );
}

/** Forgets the pages of a list that was read far down, and begins again with its newest entries. */
export async function startOver(schema: DescMethodUnary): Promise<void> {
  await queryClient.resetQueries({ queryKey: createConnectQueryKey({ schema, cardinality: "infinite" }) });
}
