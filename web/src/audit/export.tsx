/** The button that downloads the entries of the audit log that match the filters, as JSON lines. */
import { Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { explain } from "../api/problem.ts";
import { download } from "../parts/download.ts";

type Load = (page: { pageToken: string }) => Promise<{ jsonLines: string; nextPageToken: string }>;

export function ExportAudit({ load }: { load: Load }) {
  const exporting = useMutation({ mutationFn: () => exportAll(load) });
  return (
    <>
      <Button variant="default" loading={exporting.isPending} onClick={() => exporting.mutate()}>
        Export as JSON lines
      </Button>
      {exporting.error && (
        <Text size="sm" c="red" role="alert">
          {explain(exporting.error).message}
        </Text>
      )}
    </>
  );
}

async function exportAll(load: Load): Promise<void> {
  const pages: string[] = [];
  let pageToken = "";
  do {
    const page = await load({ pageToken });
    pages.push(page.jsonLines);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  download("audit-log.jsonl", pages.join(""), "application/jsonl");
}
