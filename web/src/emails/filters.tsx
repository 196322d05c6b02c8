/** The filters of the email log. */
import { Button, Collapse, Group, NativeSelect, SimpleGrid, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { TextFilter } from "../parts/text-filter.tsx";
import { emailLabel, emailStatuses, statusName } from "./labels.ts";
import { type EmailSearch, hasFilters, periods } from "./search.ts";

const statusOptions = [
  { value: "", label: "Any status" },
  ...emailStatuses.map((status) => ({ value: statusName(status), label: emailLabel(status).text })),
];
const periodOptions = [
  { value: "", label: "Any time" },
  ...Object.entries(periods).map(([value, { name }]) => ({ value, label: name })),
];

export function EmailFilters({ search, onChange }: { search: EmailSearch; onChange(part: EmailSearch): void }) {
  const [isExpanded, expansion] = useDisclosure(Boolean(search.domain || search.key));
  return (
    <Stack gap="sm" component="search" aria-label="Emails">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
        <TextFilter
          label="Search"
          placeholder="Recipient, subject or id"
          value={search.q ?? ""}
          onChange={(q) => onChange({ q })}
        />
        <NativeSelect
          label="Status"
          data={statusOptions}
          value={search.status ?? ""}
          onChange={(event) => onChange({ status: event.currentTarget.value })}
        />
        <NativeSelect
          label="Accepted"
          data={periodOptions}
          value={search.since ?? ""}
          onChange={(event) => onChange({ since: event.currentTarget.value })}
        />
      </SimpleGrid>
      <Collapse expanded={isExpanded}>
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <TextFilter
            label="Sending domain"
            placeholder="example.com"
            value={search.domain ?? ""}
            onChange={(domain) => onChange({ domain })}
          />
          <TextFilter
            label="Metadata key"
            placeholder="order"
            value={search.key ?? ""}
            onChange={(key) => onChange({ key })}
          />
          <TextFilter
            label="Metadata value"
            placeholder={search.key ? "Any value" : "Enter a key first"}
            value={search.value ?? ""}
            disabled={!search.key}
            onChange={(value) => onChange({ value })}
          />
        </SimpleGrid>
      </Collapse>
      <Group gap="xs">
        <Button variant="subtle" size="compact-sm" onClick={expansion.toggle} aria-expanded={isExpanded}>
          {isExpanded ? "Fewer filters" : "More filters"}
        </Button>
        {hasFilters(search) && (
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => onChange({ q: "", status: "", domain: "", since: "", key: "", value: "" })}
          >
            Clear filters
          </Button>
        )}
      </Group>
    </Stack>
  );
}
