/** How a name that no public DNS answers for gets its records: from Posthorn's own DNS, by the command line. */
import { Alert, Stack, Text } from "@mantine/core";
import { useSession } from "../api/session.ts";
import { Copyable } from "../parts/copy-button.tsx";

export function LocalDnsHint({ domain }: { domain: string }) {
  const { caller } = useSession();
  // The command line works in the first workspace unless it is told another.
  const workspace = caller?.kind === "person" ? caller.workspace?.name : undefined;
  const where = workspace === undefined ? "" : ` --workspace '${workspace.replaceAll("'", "'\\''")}'`;
  return (
    <Alert color="blue" title="A name for trying things out">
      <Stack gap="xs">
        <Text size="sm">
          No DNS provider can serve {domain}. Where Posthorn runs in capture mode, its own DNS serves the records after
          this command on the server; check DNS afterwards.
        </Text>
        <Copyable value={`posthorn dns publish ${domain}${where}`} name="the command" />
      </Stack>
    </Alert>
  );
}
