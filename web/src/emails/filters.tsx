/** The filters of the email log: search, outcomes with their counts, and on request domain, key and metadata. */
import { Button, NativeSelect, Popover, Stack, UnstyledButton } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { type CountEmailsResponse, EmailOutcome } from "../../../src/gen/v1/email_pb.ts";
import { SearchIcon } from "../parts/icons.tsx";
import { toneStyle } from "../parts/outcome.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { countText } from "./counts.ts";
import { useKeys } from "./key-names.ts";
import { outcomeLabel, outcomeName, outcomes } from "./outcomes.ts";
import { chosenOutcomes, type EmailSearch, hasFilters, noFilters } from "./search.ts";

/** Most logs have none of these, so they are offered only where there are some. */
const rare: ReadonlySet<EmailOutcome> = new Set([EmailOutcome.FAILED, EmailOutcome.CANCELED, EmailOutcome.SENT]);

type Props = { search: EmailSearch; onChange(part: EmailSearch): void };

export function EmailFilters({ search, onChange, counts }: Props & { counts: CountEmailsResponse | undefined }) {
  const chosen = chosenOutcomes(search);
  const isShown = (outcome: EmailOutcome) =>
    !rare.has(outcome) || chosen.includes(outcome) || counts?.counts.some((one) => one.outcome === outcome);
  return (
    <Stack gap="sm" component="search" aria-label="Emails">
      <TextFilter
        aria-label="Search"
        placeholder="Recipient, subject or id"
        leftSection={<SearchIcon />}
        value={search.q ?? ""}
        onChange={(q) => onChange({ q })}
      />
      <div className="chips log-filters">
        <UnstyledButton className="chip" aria-pressed={!search.outcome} onClick={() => onChange({ outcome: "" })}>
          All <b>{countText(counts, undefined)}</b>
        </UnstyledButton>
        {outcomes.filter(isShown).map((outcome) => {
          const { text, tone, meaning } = outcomeLabel(outcome);
          const name = outcomeName(outcome);
          const pressed = chosen.includes(outcome);
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
              {text} <b>{countText(counts, outcome)}</b>
            </UnstyledButton>
          );
        })}
        <DomainChip search={search} onChange={onChange} />
        <DestinationChip search={search} onChange={onChange} />
        <SiteChip search={search} onChange={onChange} />
        <KeyChip search={search} onChange={onChange} />
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

function DomainChip({ search, onChange }: Props) {
  const { domain = "" } = search;
  return (
    <ChipPopover label={domain ? `Domain: ${domain}` : "+ Domain"} pressed={domain !== ""}>
      <TextFilter
        label="Domain"
        placeholder="example.com"
        value={domain}
        onChange={(text) => onChange({ domain: text })}
      />
    </ChipPopover>
  );
}

function DestinationChip({ search, onChange }: Props) {
  const { destination = "", open = "" } = search;
  const label = destination ? `To: ${destination}` : "+ Recipient domain";
  return (
    <>
      <ChipPopover label={label} pressed={destination !== ""}>
        <TextFilter
          label="Recipient domain"
          placeholder="example.com"
          value={destination}
          onChange={(text) => onChange({ destination: text })}
        />
      </ChipPopover>
      {open === "yes" && (
        <UnstyledButton className="chip" aria-pressed onClick={() => onChange({ open: "" })}>
          Still waiting
        </UnstyledButton>
      )}
    </>
  );
}

/** Links from the statistics set it. */
function SiteChip({ search: { site }, onChange }: Props) {
  if (!site) return null;
  return (
    <UnstyledButton className="chip cut" aria-pressed title="Remove this filter" onClick={() => onChange({ site: "" })}>
      Receiving site: {site} <span aria-hidden="true">×</span>
    </UnstyledButton>
  );
}

function KeyChip({ search, onChange }: Props) {
  const { sender = "" } = search;
  const keys = useKeys();
  const name = keys?.find(({ id }) => id === sender)?.name ?? sender;
  return (
    <ChipPopover label={sender ? `Key: ${name}` : "+ Key"} pressed={sender !== ""}>
      {keys ? (
        <NativeSelect
          label="API key"
          value={sender}
          data={[
            { value: "", label: "Any key" },
            ...keys.map(({ id, name, revokedAt }) => ({ value: id, label: revokedAt ? `${name} (revoked)` : name })),
            // A link may name a key that is not among the newest.
            ...(sender !== "" && name === sender ? [{ value: sender, label: sender }] : []),
          ]}
          onChange={(event) => onChange({ sender: event.currentTarget.value })}
        />
      ) : (
        <TextFilter
          label="API key"
          placeholder="key_…"
          value={sender}
          onChange={(text) => onChange({ sender: text })}
        />
      )}
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

function ChipPopover(props: { label: string; pressed: boolean; children: ReactNode }) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus shadow="md">
      <Popover.Target>
        <UnstyledButton className="chip cut" aria-pressed={props.pressed} onClick={() => setOpened(!opened)}>
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
