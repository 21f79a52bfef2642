/** Words of the gateway: what stands between backticks is code, and an x between digits stays an x. */
export function InlineCode({ text }: { text: string }) {
  return (
    <span className="[font-variant-ligatures:no-contextual]">
      {text.split("`").map((part, index) =>
        index % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text never change places
          <code key={index} className="num rounded bg-sunken px-1 text-ink">
            {part}
          </code>
        ) : (
          part
        ),
      )}
    </span>
  );
}
