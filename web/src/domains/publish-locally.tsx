/** Publishes the records in Posthorn's own DNS server, for reserved names in capture mode. The domain page and the guide use it. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Stack, Text } from "@mantine/core";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { ProblemAlert } from "../parts/states.tsx";
import { cacheDomain } from "./verify.tsx";

export function PublishLocally({ domain }: { domain: Domain }) {
  const publishing = useMutation(DomainService.method.publishToLocalDns, {
    onSuccess: ({ domain }) => domain && cacheDomain(domain),
  });
  return (
    <Alert color="blue" title="Reserved test domain">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          {domain.domain} is a reserved name that no DNS provider can host. In capture mode, Posthorn&apos;s own DNS
          server can publish the records.
        </Text>
        {publishing.error && <ProblemAlert error={publishing.error} />}
        <Button onClick={() => publishing.mutate({ id: domain.id })} loading={publishing.isPending}>
          Publish to local DNS
        </Button>
      </Stack>
    </Alert>
  );
}
