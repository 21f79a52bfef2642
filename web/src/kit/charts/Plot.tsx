import { type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { shownLabels } from "./scale";

const TOP = 8;
const BELOW = 22;
/** About how wide a character of an axis label is; a Chinese one is as wide as it is high. */
const CHARACTER_WIDTH = 6.6;
const WIDE_CHARACTER_WIDTH = 11;
function widthOf(label: string): number {
  return [...label].reduce((sum, one) => sum + (one > "\u2e7f" ? WIDE_CHARACTER_WIDTH : CHARACTER_WIDTH), 0);
}

export interface Frame {
  left: number;
  width: number;
  bottom: number;
  /** The middle of a category and how wide it is. */
  middle: (index: number) => number;
  band: number;
  y: (value: number) => number;
}
export interface PlotProps {
  /** Names of the categories, for dragging. */
  keys: readonly string[];
  labels: readonly string[];
  marks: readonly number[];
  showMark: (value: number) => string;
  /** Categories are columns with space around them, or points from edge to edge. */
  columns: boolean;
  draw: (frame: Frame, active: number | null) => ReactNode;
  bubble: (index: number) => ReactNode;
  onPick?: ((index: number, value: number) => void) | undefined;
  onZoom?: ((from: string, to: string) => void) | undefined;
}

/** Axes, hover and dragging; what is drawn between them comes from outside. */
export function Plot(props: PlotProps) {
  const { keys, labels, marks, showMark, columns, onPick, onZoom } = props;
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [active, setActive] = useState<number | null>(null);
  const [from, setFrom] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const top = Math.max(marks.at(-1) ?? 0, Number.MIN_VALUE);
  const left = Math.ceil(10 + CHARACTER_WIDTH * Math.max(...marks.map((mark) => showMark(mark).length), 1));
  const width = Math.max(0, size.width - left - 2);
  const bottom = Math.max(TOP, size.height - BELOW);
  const count = keys.length;
  const band = columns ? width / Math.max(count, 1) : width / Math.max(count - 1, 1);
  const frame: Frame = {
    left,
    width,
    bottom,
    band,
    middle: (index) => (columns ? left + (index + 0.5) * band : count === 1 ? left + width / 2 : left + index * band),
    y: (value) => bottom - (value / top) * (bottom - TOP),
  };
  const at = (event: PointerEvent): number | null => {
    const x = event.clientX - (box.current?.getBoundingClientRect().left ?? 0) - left;
    if (count === 0 || x < -band || x > width + band) return null;
    const index = columns ? Math.floor(x / band) : Math.round(x / band);
    return Math.min(Math.max(index, 0), count - 1);
  };
  const valueAt = (event: PointerEvent) => {
    const y = event.clientY - (box.current?.getBoundingClientRect().top ?? 0);
    return ((bottom - y) / (bottom - TOP)) * top;
  };
  const onUp = (event: PointerEvent) => {
    const to = at(event);
    if (from !== null && to !== null) {
      const [a, b] = [keys[Math.min(from, to)], keys[Math.max(from, to)]];
      if (from === to) onPick?.(to, valueAt(event));
      else if (a !== undefined && b !== undefined) onZoom?.(a, b);
    }
    setFrom(null);
  };
  const shown = shownLabels(count, width, Math.max(...labels.map(widthOf), 4 * CHARACTER_WIDTH) + 14);
  const dragging = onZoom !== undefined && from !== null && active !== null && from !== active;
  const edge = (index: number, side: -1 | 1) => frame.middle(index) + (columns ? (side * band) / 2 : 0);
  return (
    <div
      ref={box}
      className="relative h-full w-full touch-pan-y select-none"
      style={onPick === undefined ? undefined : { cursor: "pointer" }}
      onPointerMove={(event) => setActive(at(event))}
      onPointerDown={(event) => setFrom(at(event))}
      onPointerUp={onUp}
      onPointerLeave={() => {
        setActive(null);
        setFrom(null);
      }}
    >
      <svg width={size.width} height={size.height} aria-hidden="true" className="block">
        {marks.map((mark) => (
          <g key={mark}>
            <line x1={left} x2={left + width} y1={frame.y(mark)} y2={frame.y(mark)} stroke="var(--line)" />
            <text x={left - 8} y={frame.y(mark)} dy="0.32em" textAnchor="end" fontSize={11} fill="var(--ink-3)">
              {showMark(mark)}
            </text>
          </g>
        ))}
        {labels.map((label, index) => {
          const key = keys[index] ?? label;
          if (!shown.has(index)) return null;
          const half = widthOf(label) / 2;
          const x = frame.middle(index);
          // At the edges a label leans inwards instead of being cut.
          const anchor = x + half > size.width ? "end" : x - half < left - 8 ? "start" : "middle";
          return (
            <text
              key={key}
              x={
                anchor === "end"
                  ? Math.min(size.width, x + half)
                  : anchor === "start"
                    ? Math.max(left - 8, x - half)
                    : x
              }
              y={bottom + 16}
              textAnchor={anchor}
              fontSize={11}
              fill="var(--ink-3)"
            >
              {label}
            </text>
          );
        })}
        {width > 0 && props.draw(frame, active)}
        {dragging && (
          <rect
            x={Math.min(edge(from, -1), edge(active, -1))}
            width={Math.abs(frame.middle(active) - frame.middle(from)) + (columns ? band : 0)}
            y={TOP}
            height={bottom - TOP}
            fill="var(--accent)"
            opacity={0.14}
          />
        )}
      </svg>
      {active !== null && !dragging && (
        <Hover x={frame.middle(active)} width={size.width} content={props.bubble(active)} />
      )}
    </div>
  );
}

function Hover({ x, width, content }: { x: number; width: number; content: ReactNode }) {
  const right = x > width / 2;
  return (
    <div
      className="pointer-events-none absolute top-1 z-10 max-w-64"
      style={right ? { right: Math.max(0, width - x + 12) } : { left: x + 12 }}
    >
      {content}
    </div>
  );
}
