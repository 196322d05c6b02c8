/** A DNS record to publish: its purpose, its name and value, and the value found in DNS. The domain page and the guide show it. */
import { Card, Group, Stack, Text } from "@mantine/core";
import { type DnsRecord, type Domain, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Fact, Facts } from "../parts/page.tsx";
import { purposeOf, recordLabel } from "./labels.ts";

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
          <Fact name={`Name relative to ${registeredDomain(record)}`}>
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
        {!isFound && record.instructions !== "" && (
          <Text size="sm" className="wrap">
            {record.instructions}
          </Text>
        )}
      </Stack>
    </Card>
  );
}

/** The registered domain. If the provider's zone is a parent domain, the short name needs more labels; the instructions say so. */
function registeredDomain({ name, nameShort }: DnsRecord): string {
  return nameShort === "@" ? name : name.slice(nameShort.length + 1);
}

/** All records of a domain, the required ones first. */
export function recordsOf({ records }: Domain): { record: DnsRecord; key: string }[] {
  if (!records) return [];
  const { dkimRecords, mailFromRecords, dmarcRecord, spfRecord, mxRecords } = records;
  return [...dkimRecords, ...mailFromRecords, dmarcRecord, spfRecord, ...mxRecords]
    .filter((record) => record !== undefined)
    .map((record) => ({ record, key: `${record.type} ${record.name} ${record.value}` }));
}
