type Line = Readonly<{ kind: ' ' | '-' | '+'; text: string }>

const context = 3
/** Above this size the differing part is shown as fully replaced: the comparison costs cells of CPU time. */
const maxCells = 4_000_000

/** The difference of two texts in the format of `diff -u`; empty for equal texts. Null is a missing file. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  if (before === after) return ''
  const lines = compare(linesOf(before), linesOf(after))
  const head = `--- ${before === null ? '/dev/null' : `a/${path}`}\n+++ ${after === null ? '/dev/null' : `b/${path}`}\n`
  return head + hunks(lines).join('')
}

/** Lines with their line ends, so that a missing last line end is a difference. */
const linesOf = (text: string | null): string[] => (text ?? '').match(/[^\n]*\n|[^\n]+$/g) ?? []

function compare(before: readonly string[], after: readonly string[]): Line[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (texts: readonly string[]): Line[] => texts.map((text) => ({ kind: ' ', text }))
  const changed = exchange(before.slice(start, before.length - end), after.slice(start, after.length - end))
  return [...same(before.slice(0, start)), ...changed, ...same(before.slice(before.length - end))]
}

/** Aligns by the longest common sequence. */
function exchange(before: readonly string[], after: readonly string[]): Line[] {
  const removed: Line[] = before.map((text) => ({ kind: '-', text }))
  const added: Line[] = after.map((text) => ({ kind: '+', text }))
  if (before.length * after.length > maxCells) return [...removed, ...added]
  const width = after.length + 1
  const common = commonLengths(before, after, width)
  const lines: Line[] = []
  let [at, to] = [0, 0]
  while (at < before.length && to < after.length) {
    if (before[at] === after[to]) {
      lines.push({ kind: ' ', text: before[at] as string })
      at++
      to++
    } else if ((common[(at + 1) * width + to] ?? 0) >= (common[at * width + to + 1] ?? 0)) lines.push(removed[at++] as Line)
    else lines.push(added[to++] as Line)
  }
  return [...lines, ...removed.slice(at), ...added.slice(to)]
}

function commonLengths(before: readonly string[], after: readonly string[], width: number): Uint32Array {
  const common = new Uint32Array((before.length + 1) * width)
  for (let at = before.length - 1; at >= 0; at--)
    for (let to = after.length - 1; to >= 0; to--)
      common[at * width + to] =
        before[at] === after[to]
          ? (common[(at + 1) * width + to + 1] ?? 0) + 1
          : Math.max(common[(at + 1) * width + to] ?? 0, common[at * width + to + 1] ?? 0)
  return common
}

function hunks(lines: readonly Line[]): string[] {
  const changed = lines.flatMap(({ kind }, at) => (kind === ' ' ? [] : [at]))
  const printed: string[] = []
  for (let first = 0; first < changed.length; ) {
    let last = first
    while (last + 1 < changed.length && (changed[last + 1] as number) - (changed[last] as number) <= 2 * context + 1) last++
    const from = Math.max(0, (changed[first] as number) - context)
    printed.push(hunk(lines, from, Math.min(lines.length, (changed[last] as number) + context + 1)))
    first = last + 1
  }
  return printed
}

function hunk(lines: readonly Line[], from: number, to: number): string {
  const count = (part: readonly Line[], without: '-' | '+') => part.filter(({ kind }) => kind !== without).length
  const range = (without: '-' | '+') => {
    const length = count(lines.slice(from, to), without)
    return `${count(lines.slice(0, from), without) + (length > 0 ? 1 : 0)},${length}`
  }
  return `@@ -${range('+')} +${range('-')} @@\n${lines.slice(from, to).map(printLine).join('')}`
}

const printLine = ({ kind, text }: Line): string => `${kind}${text}${text.endsWith('\n') ? '' : '\n\\ No newline at end of file\n'}`
