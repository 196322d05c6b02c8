/** The command palette: finds pages, commands, and emails by text. Opened with Ctrl-K or `/`. */
import { useQuery } from "@connectrpc/connect-query";
import { Loader, Modal, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useRouter } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { explain } from "../api/problem.ts";
import { useMayWrite, useSession } from "../api/session.ts";
import { SearchIcon } from "../parts/icons.tsx";
import { groups, operatorGroup } from "./sections.tsx";

type Entry = { key: string; group: string; label: string; hint?: string; run(): void };

/** Without a workspace, there are no emails, and only the operators' pages. */
type Reach = { inWorkspace: boolean; isOperator: boolean };

export function Palette(props: Reach & { opened: boolean; onClose(): void }) {
  return (
    <Modal.Root opened={props.opened} onClose={props.onClose} size="lg" yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label="Search and commands" radius={10}>
        <PaletteBody {...props} />
      </Modal.Content>
    </Modal.Root>
  );
}

function PaletteBody({ onClose, ...reach }: Reach & { onClose(): void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const { entries, isSearching, error } = useEntries(text, reach);
  const current = Math.min(chosen, entries.length - 1);
  const label = reach.inWorkspace ? "Search emails, pages and commands" : "Search pages and commands";
  const currentId = entries[current] && `${listId}-${current}`;
  useEffect(() => {
    if (currentId) document.getElementById(currentId)?.scrollIntoView({ block: "nearest" });
  }, [currentId]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((current + step + entries.length) % Math.max(entries.length, 1));
    else if (event.key === "Enter") run(entries[current]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="palette-field">
        <SearchIcon />
        <input
          // biome-ignore lint/a11y/noAutofocus: the palette opens on request, and its field is its purpose
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={currentId}
          aria-label={label}
          placeholder={label}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKey}
        />
        {isSearching && <Loader size={16} color="gray" />}
      </div>
      <div className="palette-list" role="listbox" id={listId} aria-label="Results">
        {entries.map((entry, n) => (
          <div key={entry.key}>
            {entries[n - 1]?.group !== entry.group && <div className="palette-group">{entry.group}</div>}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard; it moves through the options */}
            <div
              role="option"
              id={`${listId}-${n}`}
              tabIndex={-1}
              aria-selected={n === current}
              className="palette-entry"
              onClick={() => run(entry)}
              onMouseMove={() => setChosen(n)}
            >
              <span className="cut">{entry.label}</span>
              {entry.hint && <span className="faint small cut">{entry.hint}</span>}
            </div>
          </div>
        ))}
      </div>
      {error ? (
        <p className="palette-empty" role="alert">
          Emails could not be searched. {explain(error).message}
        </p>
      ) : (
        entries.length === 0 && !isSearching && <p className="palette-empty">Nothing matches “{text}”.</p>
      )}
    </>
  );
}

function useEntries(text: string, { inWorkspace, isOperator }: Reach) {
  const router = useRouter();
  const { caller } = useSession();
  const mayWrite = useMayWrite();
  const { setColorScheme } = useMantineColorScheme();
  const [sought] = useDebouncedValue(text.trim(), 150);
  const isEmailSearch = inWorkspace && sought.length >= 2;
  const found = useQuery(
    EmailService.method.listEmails,
    { search: sought, pageSize: 6 },
    { enabled: isEmailSearch, refetchInterval: false },
  );
  const open = (to: string) => () => void router.navigate({ to });
  const pages = [...(inWorkspace ? groups : []), ...(isOperator ? [operatorGroup] : [])].flatMap(({ links }) =>
    links.map(({ to, label }): Entry => ({ key: to, group: "Pages", label, run: open(to) })),
  );
  const commands: Entry[] = [
    ...(inWorkspace && mayWrite
      ? [{ key: "send", group: "Commands", label: "Send a test email", run: open("/send") }]
      : []),
    ...(caller?.kind === "person"
      ? [{ key: "account", group: "Commands", label: "Your account", run: open("/account") }]
      : []),
    { key: "light", group: "Commands", label: "Use the light color scheme", run: () => setColorScheme("light") },
    { key: "dark", group: "Commands", label: "Use the dark color scheme", run: () => setColorScheme("dark") },
    { key: "auto", group: "Commands", label: "Use the color scheme of the system", run: () => setColorScheme("auto") },
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = ({ label }: Entry) => words.every((word) => label.toLowerCase().includes(word));
  const emails = (isEmailSearch ? (found.data?.data ?? []) : []).map(
    (email): Entry => ({
      key: email.id,
      group: "Emails",
      label: email.to[0] ?? email.id,
      hint: email.subject || "(no subject)",
      run: () => void router.navigate({ to: "/emails/$id", params: { id: email.id } }),
    }),
  );
  return {
    entries: [...[...pages, ...commands].filter(matches), ...emails],
    // The search starts when typing pauses.
    isSearching: found.isFetching || text.trim() !== sought,
    error: isEmailSearch ? found.error : null,
  };
}
