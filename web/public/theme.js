// Runs before the first paint, so that a pinned theme never flashes. Kept in step with src/app/theme.ts.
(() => {
  let pinned = null;
  try {
    pinned = localStorage.getItem("trunkline.theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  const dark = pinned === "dark" || (pinned !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
