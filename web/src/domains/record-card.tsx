/** One DNS record to publish: what for, what to type where, and what was found instead. */
import { Card, Group, Stack, Text } from "@mantine/core";
import { type DnsRecord, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { Mark } from "../parts/mark.tsx";
import { purposeOf, recordWord } from "./words.ts";

export function RecordCard({ record }: { record: DnsRecord }) {
  const purpose = purposeOf(record.recordType);
  const isRight = record.status === RecordStatus.FOUND;
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
          <Mark of={recordWord(record.status)} />
        </Group>
        <Text size="sm" c="dimmed">
          {purpose.why}
        </Text>
        <Facts>
          <Fact name="Type">
            <code>{record.type}</code>
            {record.priority !== undefined && ` with priority ${record.priority}`}
          </Fact>
          <Fact name={`Name within ${registered(record)}`}>
            <Copyable value={record.nameShort} name={`the short name of ${purpose.name}`} />
          </Fact>
          <Fact name="Full name">
            <Copyable value={record.name} name={`the full name of ${purpose.name}`} />
          </Fact>
          <Fact name="Value" wide>
            <Copyable value={record.value} name={`the value of ${purpose.name}`} />
          </Fact>
          {record.discoveredValue !== "" && record.discoveredValue !== record.value && (
            <Fact name="Found in DNS" wide>
              <code className="wrap">{record.discoveredValue}</code>
            </Fact>
          )}
        </Facts>
        {!isRight && record.instructions !== "" && (
          <Text size="sm" className="wrap">
            {record.instructions}
          </Text>
        )}
      </Stack>
    </Card>
  );
}

/** What the short name is short for: a provider whose zone begins higher up needs more of it, as the instructions say. */
function registered({ name, nameShort }: DnsRecord): string {
  return nameShort === "@" ? name : name.slice(nameShort.length + 1);
}
