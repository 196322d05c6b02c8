/** A DNS record to publish: its purpose, its name and value, and the value found in DNS. The guide shows it. */
import { Card, Group, Stack, Text } from "@mantine/core";
import { type DnsRecord, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Fact, Facts } from "../parts/page.tsx";
import { purposeOf, recordLabel } from "./labels.ts";
import { valueToPublish } from "./record-text.ts";

export { recordsOf } from "./record-text.ts";

export function RecordCard({ record }: { record: DnsRecord }) {
  const purpose = purposeOf(record.recordType);
  const isFound = record.status === RecordStatus.FOUND;
  return (
    <Card withBorder padding="md" component="li">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <Text fw={600}>{purpose.name}</Text>
            <Text size="sm" c="dimmed">
              {purpose.need}
            </Text>
          </Group>
          <StatusBadge of={recordLabel(record.status)} />
        </Group>
        <Text size="sm" c="dimmed">
          {purpose.why}
        </Text>
        <Facts>
          <Fact name="Type">
            <code>{record.type}</code>
            {record.priority !== undefined && `, priority ${record.priority}`}
          </Fact>
          <Fact name="Name at your DNS provider">
            <Copyable value={record.nameInZone} name={`the name of ${purpose.name}`} />
          </Fact>
          <Fact name="Full name">
            <Copyable value={record.name} name={`the full name of ${purpose.name}`} />
          </Fact>
          <Fact name="Value" wide>
            <Copyable value={valueToPublish(record)} name={`the value of ${purpose.name}`} />
          </Fact>
          {record.discoveredValue !== "" && record.discoveredValue !== record.value && (
            <Fact name="Found in DNS" wide>
              <code className="wrap">{record.discoveredValue}</code>
            </Fact>
          )}
        </Facts>
        {!isFound && record.instructions !== "" && (
          <Text size="sm" className="wrap">
            {record.instructions}
          </Text>
        )}
      </Stack>
    </Card>
  );
}
