/** Shows the HTML of a message in a sandboxed frame without scripts and navigation. Remote images load only on request. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import { cleanHtml } from "./preview.ts";

const maxHeight = 1_600;

export function HtmlPreview(props: { html: string; title: string; inline?: ReadonlyMap<string, string> }) {
  const { html, title, inline } = props;
  const [withImages, setWithImages] = useState(false);
  const cleaned = useMemo(() => cleanHtml(html, inline), [html, inline]);
  return (
    <Stack gap="sm">
      {cleaned.hasRemote && (
        <Alert color={withImages ? "yellow" : "blue"} p="sm">
          <Group justify="space-between" gap="xs">
            <Text size="sm">
              {withImages
                ? "Remote images are loaded. The sender can see that you opened the message."
                : "Remote images are blocked, because loading them shows the sender that you opened the message."}
            </Text>
            {!withImages && (
              <Button size="xs" variant="default" onClick={() => setWithImages(true)}>
                Show remote images
              </Button>
            )}
          </Group>
        </Alert>
      )}
      <Frame key={String(withImages)} cleaned={cleaned} title={title} withImages={withImages} />
    </Stack>
  );
}

/** The two empty pages differ only in their Content-Security-Policy: whether it allows remote images. */
function Frame(props: { cleaned: ReturnType<typeof cleanHtml>; title: string; withImages: boolean }) {
  const { cleaned, title, withImages } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(320);
  const [loads, setLoads] = useState(0);
  useEffect(() => {
    const page = frame.current?.contentDocument;
    if (loads === 0 || !page?.body) return;
    const style = page.createElement("style");
    style.textContent = "body{margin:12px;overflow-wrap:anywhere;font-family:sans-serif}img{max-width:100%}";
    page.head.replaceChildren(style, ...cleaned.head.map((element) => page.importNode(element, true)));
    const body = page.importNode(cleaned.body, true);
    page.body.replaceWith(body);
    const fit = () => setHeight(Math.min(maxHeight, Math.max(120, body.scrollHeight + 24)));
    const watch = new ResizeObserver(fit);
    watch.observe(body);
    fit();
    return () => watch.disconnect();
  }, [cleaned, loads]);
  return (
    <iframe
      ref={frame}
      className="preview"
      title={title}
      src={withImages ? "/preview-images.html" : "/preview.html"}
      // The frame has our origin, so that this page can fill it. Without allow-scripts its content cannot use that.
      sandbox="allow-same-origin"
      referrerPolicy="no-referrer"
      style={{ height }}
      onLoad={() => setLoads((count) => count + 1)}
    />
  );
}
