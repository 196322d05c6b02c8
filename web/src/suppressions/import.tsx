/** The dialog that imports addresses from CSV and lists the rejected lines. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, FileButton, Group, List, Modal, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { type ImportSuppressionsResponse, SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { explain } from "../api/problem.ts";
import { invalidate } from "../api/query-client.ts";
import { ProblemAlert } from "../parts/states.tsx";

export function ImportSuppressions({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Import addresses" size="lg">
      <Import onClose={onClose} />
    </Modal>
  );
}

function Import({ onClose }: { onClose(): void }) {
  const [csv, setCsv] = useState("");
  const [file, setFile] = useState<{ name: string; text: string }>();
  const importing = useMutation(SuppressionService.method.importSuppressions, {
    onSuccess: () => void invalidate(SuppressionService.method.listSuppressions),
  });
  const choose = async (chosen: File | null) =>
    setFile(chosen ? { name: chosen.name, text: await chosen.text() } : undefined);
  const text = file?.text ?? csv;
  const fields = importing.error ? explain(importing.error).fields : {};
  if (importing.data) return <Done result={importing.data} onClose={onClose} />;
  return (
    <Stack>
      <Text size="sm">
        CSV with a header line. The column <code>address</code> is required, <code>note</code> is optional, other
        columns are ignored. Exported lists can be imported.
      </Text>
      <Group gap="sm">
        <FileButton onChange={choose} accept=".csv,text/csv,text/plain">
          {(button) => (
            <Button {...button} variant="default">
              Choose file
            </Button>
          )}
        </FileButton>
        {file && (
          <Group gap="xs">
            <Text size="sm" className="wrap">
              {file.name}
            </Text>
            <Button size="compact-xs" variant="subtle" onClick={() => setFile(undefined)}>
              Remove file
            </Button>
          </Group>
        )}
      </Group>
      {!file && (
        <Textarea
          label="Or paste CSV text"
          placeholder={"address,note\nuser@example.com,unsubscribed"}
          value={csv}
          onChange={(event) => setCsv(event.currentTarget.value)}
          error={fields.csv}
          rows={6}
          spellCheck={false}
        />
      )}
      {importing.error && (file || !fields.csv) && <ProblemAlert error={importing.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          loading={importing.isPending}
          disabled={text.trim() === ""}
          onClick={() => importing.mutate({ csv: text })}
        >
          Import addresses
        </Button>
      </Group>
    </Stack>
  );
}

function Done({ result, onClose }: { result: ImportSuppressionsResponse; onClose(): void }) {
  const { added, alreadyPresent, refused, problems } = result;
  return (
    <Stack>
      <Alert color={refused > 0 ? "yellow" : "green"} role="alert">
        Added: {added.toLocaleString("en")}. Already on the list: {alreadyPresent.toLocaleString("en")}. Rejected lines:{" "}
        {refused.toLocaleString("en")}.
      </Alert>
      {problems.length > 0 && (
        <List size="sm" className="wrap" aria-label="Rejected lines">
          {problems.map(({ line, message }) => (
            <List.Item key={line}>
              Line {line}: {message}
            </List.Item>
          ))}
        </List>
      )}
      <Button onClick={onClose}>Done</Button>
    </Stack>
  );
}
