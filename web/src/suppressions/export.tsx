/** The button that downloads the complete suppression list as CSV. */
import { createClient } from "@connectrpc/connect";
import { Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { explain } from "../api/problem.ts";
import { transport } from "../api/transport.ts";
import { download } from "../parts/download.ts";

export function ExportSuppressions() {
  const exporting = useMutation({ mutationFn: exportAll });
  return (
    <>
      <Button variant="default" loading={exporting.isPending} onClick={() => exporting.mutate()}>
        Export list
      </Button>
      {exporting.error && (
        <Text size="sm" c="red" role="alert">
          {explain(exporting.error).message}
        </Text>
      )}
    </>
  );
}

async function exportAll(): Promise<void> {
  const client = createClient(SuppressionService, transport);
  const pages: string[] = [];
  let pageToken = "";
  do {
    const page = await client.exportSuppressions({ pageToken }, { timeoutMs: 60_000 });
    pages.push(page.csv);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  download("suppressions.csv", pages.join(""), "text/csv");
}
