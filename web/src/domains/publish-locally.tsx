/** One click in the place of a DNS provider: where Posthorn's own DNS is asked for the name, it serves the records, and they are looked up. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Stack, Text } from "@mantine/core";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { showChecked } from "./verify.tsx";

export function PublishLocally({ domain }: { domain: Domain }) {
  const publishing = useMutation(DomainService.method.publishToLocalDns, {
    onSuccess: ({ domain }) => domain && showChecked(domain),
  });
  return (
    <Alert color="blue" title="A name for trying things out">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          No DNS provider can serve {domain.domain}. Posthorn captures all mail on this machine, and its own DNS can
          serve the records.
        </Text>
        {publishing.error && <ProblemAlert error={publishing.error} />}
        <Button onClick={() => publishing.mutate({ id: domain.id })} loading={publishing.isPending}>
          Publish to local DNS
        </Button>
      </Stack>
    </Alert>
  );
}
