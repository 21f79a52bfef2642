import { useEffect, useLayoutEffect, useRef, useState } from "react";

const DELAY_MS = 250;
const GAP = 6;

/**
 * One hover for the whole page: whatever carries `data-tip` shows it. Cheap enough for a table of a thousand amounts,
 * where a tooltip component for each would not be.
 */
export function Tips() {
  const [tip, setTip] = useState<{ text: string; at: DOMRect } | null>(null);
  const layer = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<{ left: number; top: number } | null>(null);
  useEffect(() => {
    let wait: ReturnType<typeof setTimeout> | undefined;
    let over: Element | null = null;
    const hide = () => {
      clearTimeout(wait);
      over = null;
      setTip(null);
      setPlace(null);
    };
    const show = (target: EventTarget | null, delay: number) => {
      const element = target instanceof Element ? target.closest("[data-tip]") : null;
      if (element === over) return;
      hide();
      if (element === null) return;
      over = element;
      wait = setTimeout(() => {
        const text = element.getAttribute("data-tip");
        if (text !== null && element.isConnected) setTip({ text, at: element.getBoundingClientRect() });
      }, delay);
    };
    const onOver = (event: PointerEvent) => {
      if (event.pointerType === "mouse") show(event.target, DELAY_MS);
    };
    const onFocus = (event: FocusEvent) => {
      if (event.target instanceof Element && event.target.matches(":focus-visible")) show(event.target, 0);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") hide();
    };
    document.addEventListener("pointerover", onOver);
    document.addEventListener("focusin", onFocus);
    document.addEventListener("focusout", hide);
    document.addEventListener("pointerdown", hide);
    document.addEventListener("keydown", onKey);
    window.addEventListener("scroll", hide, true);
    return () => {
      clearTimeout(wait);
      document.removeEventListener("pointerover", onOver);
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("pointerdown", hide);
      document.removeEventListener("keydown", onKey);
      window.removeEventListener("scroll", hide, true);
    };
  }, []);
  useLayoutEffect(() => {
    if (tip === null || layer.current === null) return;
    const size = layer.current.getBoundingClientRect();
    const left = Math.min(
      Math.max(8, tip.at.left + tip.at.width / 2 - size.width / 2),
      document.documentElement.clientWidth - size.width - 8,
    );
    const above = tip.at.top - size.height - GAP;
    setPlace({ left, top: above > 8 ? above : tip.at.bottom + GAP });
  }, [tip]);
  if (tip === null) return null;
  return (
    <div
      ref={layer}
      role="tooltip"
      className="pointer-events-none fixed z-70 max-w-80 rounded-md bg-ink px-2 py-1 text-xs [overflow-wrap:anywhere] text-canvas"
      style={place === null ? { visibility: "hidden", left: 0, top: 0 } : place}
    >
      {tip.text}
    </div>
  );
}
