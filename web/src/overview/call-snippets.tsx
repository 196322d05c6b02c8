/** The call that sends an email, in the language of the reader. The guide writes the new key into it. */
import { Tabs, Text } from "@mantine/core";
import { useState } from "react";
import { installs, languages, type SnippetValues } from "../docs/snippets.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import "./guide.css";

/** The documentation uses the same one. */
const languageSlot = "posthorn.docs-language";

export function CallSnippets({ values }: { values: SnippetValues }) {
  const [language, setLanguage] = useState(() => localStorage.getItem(languageSlot) ?? "");
  const chosen = languages.find(({ id }) => id === language) ?? languages[0];
  const choose = (id: string | null) => {
    localStorage.setItem(languageSlot, id ?? "");
    setLanguage(id ?? "");
  };
  return (
    <Tabs value={chosen.id} onChange={choose} unstyled className="snippets" keepMounted={false}>
      <div className="snippets-bar">
        <Tabs.List className="snippets-tabs" aria-label="Language">
          {languages.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id} className="snippets-tab">
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <CopyButton value={chosen.write(values)} name={`the code in ${chosen.label}`} />
      </div>
      {languages.map(({ id, label, write }) => (
        <Tabs.Panel key={id} value={id}>
          {installs[id] && (
            <Text size="sm" className="snippets-note">
              First run <code>{installs[id]}</code>.
            </Text>
          )}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard (WCAG 2.1.1) */}
          <section className="snippets-code" tabIndex={0} aria-label={`Code in ${label}`}>
            <pre>{write(values)}</pre>
          </section>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
