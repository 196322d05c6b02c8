/** Starts the dashboard in the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

createRoot(document.getElementById("root")!).render(<StrictMode>Posthorn</StrictMode>);
