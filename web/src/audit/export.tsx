/** The button that downloads the entries of the audit log that match the filters, as JSON lines. */
import { createClient } from "@connectrpc/connect";
import { Button, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { AuditService } from "../../../src/gen/v1/audit_pb.ts";
import { explain } from "../api/problem.ts";
import { transport } from "../api/transport.ts";
import { download } from "../parts/download.ts";
import { type AuditSearch, toFilter } from "./search.ts";

export function ExportAudit({ search }: { search: AuditSearch }) {
  const exporting = useMutation({ mutationFn: () => exportAll(search) });
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

async function exportAll(search: AuditSearch): Promise<void> {
  const client = createClient(AuditService, transport);
  const filter = toFilter(search, new Date());
  const pages: string[] = [];
  let pageToken = "";
  do {
    const page = await client.exportAuditEntries({ filter, pageToken }, { timeoutMs: 60_000 });
    pages.push(page.jsonLines);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  download("audit-log.jsonl", pages.join(""), "application/jsonl");
}
