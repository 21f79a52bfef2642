// The documentation's one script: the theme, copying, the search, the reader's own key. Every page is whole without it.
(() => {
  "use strict";
  const STORED = "trunkline-theme";
  const root = document.documentElement;

  // Before the first paint, so that nothing flashes.
  const pinned = () => {
    try {
      const value = localStorage.getItem(STORED);
      return value === "light" || value === "dark" ? value : null;
    } catch {
      return null;
    }
  };
  const paint = () => {
    const theme = pinned();
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  paint();
  addEventListener("storage", paint);
  root.dataset.script = "";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  const SHAPES = {
    light: "M12 4V2m0 20v-2m8-8h2M2 12h2m13.7-5.7 1.4-1.4M4.9 19.1l1.4-1.4m0-11.4L4.9 4.9m14.2 14.2-1.4-1.4M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0Z",
    dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z",
    system: "M4 5h16v11H4zM9 20h6m-3-4v4",
  };
  const icon = (path) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", width: 16, height: 16, fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" })) svg.setAttribute(key, value);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", path);
    svg.append(line);
    return svg;
  };

  const themes = () => {
    const button = document.querySelector(".theme");
    const order = ["system", "light", "dark"];
    const show = () => {
      const now = pinned() ?? "system";
      button.replaceChildren(icon(SHAPES[now]));
      button.setAttribute("aria-label", `Theme: ${now}`);
      button.title = `Theme: ${now}`;
    };
    button.addEventListener("click", () => {
      const next = order[(order.indexOf(pinned() ?? "system") + 1) % order.length];
      try {
        if (next === "system") localStorage.removeItem(STORED);
        else localStorage.setItem(STORED, next);
      } catch {
        // Nothing may be kept here; the system's theme stays.
      }
      paint();
      show();
    });
    show();
    button.hidden = false;
  };

  // The reader's own key, if one was made in this tab: the console keeps it there under the key's number, and the newest
  // is the one that was made last. It never leaves the tab.
  const MADE = "trunkline.made.";
  const ownKey = () => {
    try {
      const numbers = Object.keys(sessionStorage).filter((name) => name.startsWith(MADE)).map((name) => Number(name.slice(MADE.length)));
      if (!numbers.length) return null;
      const key = sessionStorage.getItem(MADE + Math.max(...numbers));
      return key && /^sk-tl-[0-9A-Za-z]{40,80}$/.test(key) ? key : null;
    } catch {
      return null;
    }
  };
  const fillKeys = async () => {
    const places = [...document.querySelectorAll(".code .key")];
    if (!places.length) return;
    const key = ownKey();
    for (const place of places) {
      const quote = place.dataset.quote;
      if (!key) continue;
      place.textContent = `${quote}${key.slice(0, 8)}…${key.slice(-4)}${quote}`;
      place.dataset.full = `${quote}${key}${quote}`;
      place.title = "Your key. Copying takes all of it.";
    }
    const figure = places[0].closest(".code");
    let signedIn = false;
    try {
      const answer = await fetch("/api/session", { headers: { accept: "application/json" } });
      signedIn = answer.ok && (await answer.json()).signed_in === true;
    } catch {
      // No session, as far as this page knows.
    }
    const link = make("a", { href: signedIn ? "/keys/new" : "/sign-in?return_to=/keys/new" }, signedIn ? "make a key" : "sign in and make a key");
    const hint = key
      ? make("p", { class: "hint" }, "Your key is filled in; copying takes all of it.")
      : make("p", { class: "hint" }, "Put your key into TRUNKLINE_KEY, or ", link, ": it is then filled in here.");
    let last = figure;
    while (last.nextElementSibling?.classList.contains("output")) last = last.nextElementSibling;
    last.after(hint);
  };

  const copies = () => {
    for (const figure of document.querySelectorAll(".code:not(.output)")) {
      const button = make("button", { type: "button", class: "copy" }, "Copy");
      button.addEventListener("click", async () => {
        const code = figure.querySelector("code").cloneNode(true);
        for (const key of code.querySelectorAll(".key[data-full]")) key.textContent = key.dataset.full;
        try {
          await navigator.clipboard.writeText(`${code.textContent}\n`);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(figure.querySelector("code"));
          button.textContent = "Selected";
        }
        setTimeout(() => (button.textContent = "Copy"), 1500);
      });
      figure.append(button);
    }
  };

  // Sections that have every word, the ones with it in a heading first.
  const search = () => {
    const input = make("input", { type: "search", placeholder: "Search the documentation", "aria-label": "Search the documentation", autocomplete: "off" });
    const list = make("ul", { "aria-label": "Found" });
    const word = make("p", { role: "status" });
    const dialog = make("dialog", { class: "find", "aria-label": "Search" }, input, list, word);
    document.body.append(dialog);
    let sections = null;
    const load = async () => {
      if (sections) return;
      const answer = await fetch("/docs/search.json");
      sections = (await answer.json()).map(([path, page, heading, text]) => ({ path, page, heading, text, low: `${page} ${heading} ${text}`.toLowerCase() }));
    };
    const score = (section, words) => {
      let sum = 0;
      const page = section.page.toLowerCase();
      const heading = section.heading.toLowerCase();
      for (const one of words) {
        if (!section.low.includes(one)) return 0;
        if (heading === one) sum += 40;
        else if (heading.includes(one)) sum += 12;
        if (page.includes(one)) sum += heading ? 4 : 16;
        sum += 1;
      }
      return sum;
    };
    const look = async () => {
      const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      try {
        await load();
      } catch {
        word.textContent = "The search cannot be reached just now.";
        return;
      }
      const found = asked.length ? sections.map((section) => [score(section, asked), section]).filter(([points]) => points).sort((a, b) => b[0] - a[0]).slice(0, 20) : [];
      list.replaceChildren(...found.map(([, section]) => {
        const title = section.heading ? `${section.page} › ${section.heading}` : section.page;
        return make("li", {}, make("a", { href: section.path }, make("strong", {}, title), make("span", {}, section.text)));
      }));
      list.hidden = !found.length;
      if (!asked.length) word.textContent = "Type a word: a field, an error, a client.";
      else if (found.length) word.textContent = `${found.length === 20 ? "The best 20" : found.length} found. Arrows choose, Enter opens.`;
      else word.textContent = "Nothing has all of these words.";
    };
    const open = () => {
      if (dialog.open) return;
      dialog.showModal();
      input.select();
      look();
    };
    input.addEventListener("input", look);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest("a")) dialog.close();
    });
    dialog.addEventListener("keydown", (event) => {
      const places = [input, ...list.querySelectorAll("a")];
      const at = places.indexOf(document.activeElement);
      if (event.key === "ArrowDown") places[Math.min(at + 1, places.length - 1)].focus();
      else if (event.key === "ArrowUp") places[Math.max(at - 1, 0)].focus();
      else if (event.key === "Enter" && at === 0) places[1]?.click();
      else return;
      event.preventDefault();
    });
    addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select");
      const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (slash || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) {
        event.preventDefault();
        open();
      }
    });
    const button = document.querySelector(".seek");
    button.addEventListener("click", open);
    button.hidden = false;
  };

  // Which heading is being read.
  const follow = () => {
    const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
    const headings = [...document.querySelectorAll("article h2, article h3")].filter((heading) => links.has(heading.id));
    if (!headings.length) return;
    let waiting = false;
    const mark = () => {
      waiting = false;
      let now = headings[0];
      for (const heading of headings) if (heading.getBoundingClientRect().top < 160) now = heading;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(now.id);
      link.setAttribute("aria-current", "true");
      const frame = link.closest(".toc");
      const place = link.getBoundingClientRect();
      const box = frame.getBoundingClientRect();
      if (place.top < box.top + 48 || place.bottom > box.bottom - 48) frame.scrollTop += place.top - box.top - box.height / 2;
    };
    addEventListener("scroll", () => {
      if (!waiting) requestAnimationFrame(mark);
      waiting = true;
    }, { passive: true });
    mark();
  };

  // On a wide window the list of pages is always there, on a narrow one it is folded.
  const fold = () => {
    const list = document.querySelector(".fold");
    const frame = document.querySelector(".pages");
    const wide = matchMedia("(min-width: 861px)");
    const set = () => (list.open = wide.matches);
    wide.addEventListener("change", set);
    set();
    list.classList.add("ready");
    const here = frame.querySelector("[aria-current]");
    if (here && wide.matches && here.offsetTop > frame.clientHeight - 96) frame.scrollTop = here.offsetTop - frame.clientHeight / 2;
  };

  addEventListener("DOMContentLoaded", () => {
    themes();
    fold();
    copies();
    search();
    follow();
    fillKeys();
  });
})();
