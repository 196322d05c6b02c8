/** The button and dialog that save the emails of the log as a file. */
import { createClient } from "@connectrpc/connect";
import { Button, Group, Modal, Progress, Radio, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { EmailService, ExportFormat } from "../../../src/gen/v1/email_pb.ts";
import { endSessionIfUnauthenticated, transport } from "../api/transport.ts";
import { download } from "../parts/download.ts";
import { ProblemAlert } from "../parts/states.tsx";
import type { toRequest } from "./search.ts";

type Filter = ReturnType<typeof toRequest>;

const formats = {
  csv: { format: ExportFormat.CSV, type: "text/csv", suffix: "csv" },
  jsonl: { format: ExportFormat.JSON_LINES, type: "application/jsonl", suffix: "jsonl" },
} as const;
type Format = keyof typeof formats;

/** `expected` is the number of emails, if the server has counted all of them. */
export function ExportEmails({ filter, expected }: { filter: Filter; expected: number | undefined }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Export
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Export emails">
        <ExportDialog filter={filter} expected={expected} onClose={dialog.close} />
      </Modal>
    </>
  );
}

function ExportDialog(props: { filter: Filter; expected: number | undefined; onClose(): void }) {
  const { filter, expected, onClose } = props;
  const [format, setFormat] = useState<Format>("csv");
  const [emails, setEmails] = useState(0);
  const stop = useRef<AbortController>(undefined);
  const exporting = useMutation({
    async mutationFn() {
      stop.current = new AbortController();
      setEmails(0);
      return await exportAll({ filter, format, signal: stop.current.signal, onProgress: setEmails });
    },
    onError: (error) => endSessionIfUnauthenticated(error),
  });
  const cancel = () => {
    stop.current?.abort();
    exporting.reset();
  };
  if (exporting.isPending)
    return (
      <Stack>
        <Text role="status" className="num">
          {emails.toLocaleString("en")}
          {expected !== undefined && ` of ${expected.toLocaleString("en")}`} emails
        </Text>
        <Progress
          value={expected ? Math.min(100, (100 * emails) / expected) : 100}
          animated={!expected}
          aria-label="Progress of the export"
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={cancel}>
            Cancel export
          </Button>
        </Group>
      </Stack>
    );
  if (exporting.data !== undefined)
    return (
      <Stack>
        <Text role="status">
          Exported {exporting.data === 1 ? "1 email" : `${exporting.data.toLocaleString("en")} emails`}. Your browser
          saved the file.
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    );
  return (
    <Stack>
      <Text>
        {expected === undefined ? "All emails" : expected === 1 ? "1 email" : `${expected.toLocaleString("en")} emails`}{" "}
        that match the filters of the log, newest first, without their content.
      </Text>
      <Radio.Group label="Format" value={format} onChange={(value) => setFormat(value as Format)}>
        <Stack gap="xs" mt="xs">
          <Radio value="csv" label="CSV, for spreadsheets" />
          <Radio value="jsonl" label="JSON lines, for programs" />
        </Stack>
      </Radio.Group>
      {exporting.error && (
        <>
          <ProblemAlert error={exporting.error} />
          <Text size="sm">Nothing was saved, because the file is incomplete.</Text>
        </>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button onClick={() => exporting.mutate()}>Export emails</Button>
      </Group>
    </Stack>
  );
}

async function exportAll(input: {
  filter: Filter;
  format: Format;
  signal: AbortSignal;
  onProgress(emails: number): void;
}): Promise<number> {
  const { format, type, suffix } = formats[input.format];
  const chunks: BlobPart[] = [];
  let exported = 0;
  // No deadline: a large log takes as long as it takes, and the person can cancel.
  const options = { signal: input.signal, timeoutMs: 0 };
  const request = { filter: input.filter, format };
  for await (const { chunk, emails } of createClient(EmailService, transport).exportEmails(request, options)) {
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
    exported = emails;
    input.onProgress(emails);
  }
  // The loop may end without an error when the person cancels at that moment.
  input.signal.throwIfAborted();
  download(`emails-${new Date().toISOString().slice(0, 10)}.${suffix}`, new Blob(chunks), type);
  return exported;
}
