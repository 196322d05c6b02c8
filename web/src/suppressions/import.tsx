/** Adds many addresses from CSV, and lists the lines that were refused. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, FileButton, Group, List, Modal, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { type ImportSuppressionsResponse, SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";

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
    onSuccess: () => void changed(SuppressionService.method.listSuppressions),
  });
  const choose = async (chosen: File | null) =>
    setFile(chosen ? { name: chosen.name, text: await chosen.text() } : undefined);
  const text = file?.text ?? csv;
  const fields = importing.error ? explain(importing.error).fields : {};
  if (importing.data) return <Done result={importing.data} onClose={onClose} />;
  return (
    <Stack>
      <Text size="sm">
        CSV with a header line. The column <code>address</code> is needed, <code>note</code> is read, others are
        ignored: what Export writes can be read here.
      </Text>
      <Group gap="sm">
        <FileButton onChange={choose} accept=".csv,text/csv,text/plain">
          {(button) => (
            <Button {...button} variant="default">
              Choose a file
            </Button>
          )}
        </FileButton>
        {file && (
          <Group gap="xs">
            <Text size="sm" className="wrap">
              {file.name}
            </Text>
            <Button size="compact-xs" variant="subtle" onClick={() => setFile(undefined)}>
              Take it away
            </Button>
          </Group>
        )}
      </Group>
      {!file && (
        <Textarea
          label="Or paste the text"
          placeholder={"address,note\nsomebody@example.com,asked to be left alone"}
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
          Import
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
        {added.toLocaleString("en")} added, {alreadyPresent.toLocaleString("en")} were on the list already,{" "}
        {refused.toLocaleString("en")} lines refused.
      </Alert>
      {problems.length > 0 && (
        <List size="sm" className="wrap" aria-label="Refused lines">
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
