/** Code that verifies the signature of a webhook's requests. */
import { Tabs, Text } from "@mantine/core";
import { CopyButton } from "../parts/copy-button.tsx";
import { verifySnippets } from "./verify-code.ts";
import "../overview/guide.css";
import { useState } from "react";

export function VerifySnippets() {
  const [chosen, setChosen] = useState(verifySnippets[0]!.id);
  const snippet = verifySnippets.find(({ id }) => id === chosen)!;
  return (
    <Tabs value={chosen} onChange={(id) => setChosen(id ?? chosen)} unstyled className="snippets" keepMounted={false}>
      <div className="snippets-bar">
        <Tabs.List className="snippets-tabs" aria-label="Language">
          {verifySnippets.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id} className="snippets-tab">
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <CopyButton value={snippet.code} name={`the code in ${snippet.label}`} />
      </div>
      {verifySnippets.map(({ id, label, code }) => (
        <Tabs.Panel key={id} value={id}>
          <Text size="sm" className="snippets-note">
            Pass the body exactly as received. <code>POSTHORN_WEBHOOK_SECRET</code> is the secret that was shown when
            the webhook was created.
          </Text>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard (WCAG 2.1.1) */}
          <section className="snippets-code" tabIndex={0} aria-label={`Code in ${label}`}>
            <pre>{code}</pre>
          </section>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
