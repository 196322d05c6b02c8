/** The period of the log: a usual one, or from one day until another. */
import { Button, Group, Popover, Stack, TextInput, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { DownIcon } from "../parts/icons.tsx";
import { type EmailSearch, periods, periodText } from "./search.ts";

type Props = { search: EmailSearch; onChange(part: EmailSearch): void };

export function PeriodMenu({ search, onChange }: Props) {
  const [opened, setOpened] = useState(false);
  const choose = (part: EmailSearch) => {
    setOpened(false);
    onChange({ since: "", from: "", until: "", ...part });
  };
  const isAny = !search.since && !search.from && !search.until;
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="default" rightSection={<DownIcon />} onClick={() => setOpened(!opened)}>
          {periodText(search)}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Period">
        <Stack gap={2} w={260}>
          <Choice isChosen={isAny} onClick={() => choose({})}>
            Any time
          </Choice>
          {Object.entries(periods).map(([value, { name }]) => (
            <Choice key={value} isChosen={search.since === value} onClick={() => choose({ since: value })}>
              {name}
            </Choice>
          ))}
          <Range search={search} onApply={choose} />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function Choice(props: { isChosen: boolean; onClick(): void; children: string }) {
  return (
    <UnstyledButton className="choice" aria-pressed={props.isChosen} onClick={props.onClick}>
      {props.children}
    </UnstyledButton>
  );
}

function Range({ search, onApply }: { search: EmailSearch; onApply(part: EmailSearch): void }) {
  const [from, setFrom] = useState(dayOf(search.from));
  const [until, setUntil] = useState(dayOf(search.until));
  const isReversed = from !== "" && until !== "" && from > until;
  return (
    <form
      className="range"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isReversed) onApply({ from, until });
      }}
    >
      <Group grow gap="xs" align="flex-start">
        <TextInput type="date" label="From" value={from} onChange={(event) => setFrom(event.currentTarget.value)} />
        <TextInput
          type="date"
          label="Until"
          value={until}
          error={isReversed && "Before the first day"}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
      </Group>
      <Button type="submit" variant="default" fullWidth mt="xs" disabled={isReversed || (from === "" && until === "")}>
        Apply dates
      </Button>
    </form>
  );
}

/** The field shows days only: a time of a link becomes its day. */
function dayOf(text = ""): string {
  return /^\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? "";
}
