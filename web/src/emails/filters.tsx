/** The filters of the email log: search, outcomes, and on request domain, key and metadata. */
import { Button, Menu, Popover, Stack, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { DownIcon, SearchIcon } from "../parts/icons.tsx";
import { toneStyle } from "../parts/outcome.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { outcomeLabel, outcomeName, outcomes } from "./outcomes.ts";
import { type EmailSearch, hasFilters, noFilters, periods } from "./search.ts";

type Props = { search: EmailSearch; onChange(part: EmailSearch): void };

export function PeriodMenu({ search, onChange }: Props) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" rightSection={<DownIcon />}>
          {periods[search.since ?? ""]?.name ?? "Any time"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {[["", "Any time"] as const, ...Object.entries(periods).map(([value, { name }]) => [value, name] as const)].map(
          ([value, name]) => (
            <Menu.Item
              key={value}
              role="menuitemradio"
              aria-checked={value === (search.since ?? "")}
              onClick={() => onChange({ since: value })}
            >
              {name}
            </Menu.Item>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

export function EmailFilters({ search, onChange }: Props) {
  return (
    <Stack gap="sm" component="search" aria-label="Emails">
      <TextFilter
        aria-label="Search"
        placeholder="Recipient, subject or id"
        leftSection={<SearchIcon />}
        value={search.q ?? ""}
        onChange={(q) => onChange({ q })}
      />
      <div className="chips">
        <Chip pressed={!search.outcome} onClick={() => onChange({ outcome: "" })}>
          All
        </Chip>
        {outcomes.map((outcome) => {
          const { text, tone, meaning } = outcomeLabel(outcome);
          const name = outcomeName(outcome);
          const pressed = search.outcome === name;
          return (
            <UnstyledButton
              key={name}
              className="chip"
              style={toneStyle(tone)}
              aria-pressed={pressed}
              title={meaning}
              onClick={() => onChange({ outcome: pressed ? "" : name })}
            >
              <span className="dot" aria-hidden="true" />
              {text}
            </UnstyledButton>
          );
        })}
        <FieldChip name="Domain" field="domain" placeholder="example.com" search={search} onChange={onChange} />
        <FieldChip name="API key" field="sender" placeholder="key_…" search={search} onChange={onChange} />
        <MetadataChip search={search} onChange={onChange} />
        {hasFilters(search) && (
          <Button variant="subtle" size="compact-sm" onClick={() => onChange(noFilters)}>
            Clear filters
          </Button>
        )}
      </div>
    </Stack>
  );
}

function Chip(props: { pressed: boolean; onClick(): void; children: string }) {
  return (
    <UnstyledButton className="chip" aria-pressed={props.pressed} onClick={props.onClick}>
      {props.children}
    </UnstyledButton>
  );
}

function FieldChip({
  name,
  field,
  placeholder,
  search,
  onChange,
}: Props & { name: string; field: "domain" | "sender"; placeholder: string }) {
  const value = search[field] ?? "";
  return (
    <ChipPopover label={value ? `${name}: ${value}` : `+ ${name}`} pressed={value !== ""}>
      <TextFilter
        label={name}
        placeholder={placeholder}
        value={value}
        onChange={(text) => onChange({ [field]: text })}
      />
    </ChipPopover>
  );
}

function MetadataChip({ search, onChange }: Props) {
  const { key = "", value = "" } = search;
  return (
    <ChipPopover label={key ? `${key}: ${value || "any value"}` : "+ Metadata"} pressed={key !== ""}>
      <TextFilter label="Metadata key" placeholder="order" value={key} onChange={(text) => onChange({ key: text })} />
      <TextFilter
        label="Metadata value"
        placeholder={key ? "Any value" : "Enter a key first"}
        value={value}
        disabled={!key}
        onChange={(text) => onChange({ value: text })}
      />
    </ChipPopover>
  );
}

function ChipPopover(props: { label: string; pressed: boolean; children: React.ReactNode }) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus shadow="md">
      <Popover.Target>
        <UnstyledButton className="chip" aria-pressed={props.pressed} onClick={() => setOpened(!opened)}>
          {props.label}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm" w={260}>
          {props.children}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
