/** The fields of a key that limit it: its end, and behind a button the domains, recipients and client addresses. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Button, Collapse, Group, NativeSelect, Stack, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import type { Key } from "../../../src/gen/v1/key_pb.ts";
import { TextField } from "../parts/form.tsx";

const dayMs = 86_400_000;

const dateFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

const ends = [
  { value: "", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 365 days" },
  { value: "date", label: "On a date" },
];

export interface Limits {
  /** Days from now, `date`, `keep` for the end that the key has, or empty for never. */
  end: string;
  /** A day as YYYY-MM-DD, for `date`. */
  date: string;
  /** Entries by line. */
  domains: string;
  recipients: string;
  addresses: string;
}

export const noLimits: Limits = { end: "", date: "", domains: "", recipients: "", addresses: "" };

/** The fields of CreateKey. */
export function limitsOnWire({ end, date, domains, recipients, addresses }: Limits, canSend: boolean) {
  return {
    expiresAt: endOf(end, date),
    domains: canSend ? entriesOf(domains) : [],
    allowedRecipients: canSend ? entriesOf(recipients) : [],
    allowedAddresses: entriesOf(addresses),
  };
}

export function limitsOf({ expiresAt, domains, allowedRecipients, allowedAddresses }: Key): Limits {
  return {
    end: expiresAt ? "keep" : "",
    date: "",
    domains: domains.join("\n"),
    recipients: allowedRecipients.join("\n"),
    addresses: allowedAddresses.join("\n"),
  };
}

/** The fields of UpdateKey, in which an empty list would mean no change. */
export function changeOnWire(limits: Limits, canSend: boolean) {
  const { expiresAt, domains, allowedRecipients, allowedAddresses } = limitsOnWire(limits, canSend);
  const orAny = (entries: string[]) => (entries.length > 0 ? entries : ["*"]);
  return {
    expiresAt,
    neverExpires: limits.end === "",
    domains: orAny(domains),
    allowedRecipients: orAny(allowedRecipients),
    allowedAddresses: orAny(allowedAddresses),
  };
}

function endOf(end: string, date: string) {
  if (end === "" || end === "keep") return undefined;
  // The end of the day in the person's own time zone.
  const at = end === "date" ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(end) * dayMs);
  return timestampFromDate(at);
}

function entriesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== "");
}

export function LimitFields(props: {
  value: Limits;
  onChange(part: Partial<Limits>): void;
  /** Error messages by field of the request. */
  errors: Record<string, string>;
  canSend: boolean;
  /** The key that is changed; undefined for a new one. */
  subject?: Key;
}) {
  const { value, onChange, errors, canSend, subject } = props;
  const listError = (field: string) => Object.entries(errors).find(([name]) => name.replace(/\[.*/, "") === field)?.[1];
  const [isOpened, expansion] = useDisclosure(Boolean(value.domains || value.recipients || value.addresses));
  const isExpanded = isOpened || ["domains", "allowedRecipients", "allowedAddresses"].some((name) => listError(name));
  const [tomorrow] = useState(() => new Date(Date.now() + dayMs).toISOString().slice(0, 10));
  const kept = subject?.expiresAt && {
    value: "keep",
    label: `${dateFormat.format(timestampDate(subject.expiresAt))} (unchanged)`,
  };
  return (
    <Stack gap="sm">
      <Group align="flex-end" grow>
        <NativeSelect
          label="Expires"
          data={kept ? [kept, ...ends] : ends}
          value={value.end}
          onChange={(event) => onChange({ end: event.currentTarget.value })}
          error={value.end === "date" ? undefined : errors.expiresAt}
        />
        {value.end === "date" && (
          <TextField
            label="Last day"
            type="date"
            min={tomorrow}
            value={value.date}
            onChange={(date) => onChange({ date })}
            error={errors.expiresAt}
            isRequired
          />
        )}
      </Group>
      <Group>
        <Button variant="subtle" size="compact-sm" ml={-8} onClick={expansion.toggle} aria-expanded={isExpanded}>
          {isExpanded ? "Fewer limits" : "More limits"}
        </Button>
      </Group>
      <Collapse expanded={isExpanded}>
        <Stack gap="sm">
          {canSend && (
            <>
              <ListField
                label="Sending domains"
                description="Optional. The key sends only from these domains, one per line."
                placeholder="example.com"
                value={value.domains}
                onChange={(domains) => onChange({ domains })}
                error={listError("domains")}
              />
              <ListField
                label="Recipients"
                description="Optional, for staging. The key sends only to these addresses or domains. A domain includes its subdomains only as *.example.com."
                placeholder={"qa@example.com\n*.staging.example.com"}
                value={value.recipients}
                onChange={(recipients) => onChange({ recipients })}
                error={listError("allowedRecipients")}
              />
            </>
          )}
          <ListField
            label="Client IP addresses"
            description="Optional. The key works only from these addresses or ranges, one per line."
            placeholder={"192.0.2.7\n198.51.100.0/24"}
            value={value.addresses}
            onChange={(addresses) => onChange({ addresses })}
            error={listError("allowedAddresses")}
          />
        </Stack>
      </Collapse>
    </Stack>
  );
}

function ListField(props: {
  label: string;
  description: string;
  placeholder: string;
  value: string;
  onChange(value: string): void;
  error: string | undefined;
}) {
  const { onChange, ...rest } = props;
  return (
    <Textarea
      {...rest}
      onChange={(event) => onChange(event.currentTarget.value)}
      rows={2}
      autosize
      maxRows={6}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}
