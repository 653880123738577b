import type { LogLine } from '../../core/boxes/index.ts'
import type { Context } from '../kit/index.ts'
import { askLogs, type LogsWish, logLine } from './logs.ts'

const everyMs = 2000
/** One service may tell later than another what it printed earlier: so much is asked for again, and what was shown is left out. */
const overlapMs = 5000
const mostLines = 2000

/** Prints what is new every two seconds, each line once, until Ctrl-C. With `--json` each line is one of JSON. */
export async function followLogs(context: Context, wish: LogsWish): Promise<void> {
  const { clock, signal, stdout, json, style } = context
  const shown = new Set<string>()
  let asked = wish
  let continues: string | undefined
  while (!signal.aborted) {
    const { commandId, lines } = await askLogs(context, asked, continues)
    const fresh = lines.filter((line) => !shown.has(keyOf(line)))
    for (const line of fresh) stdout.write(`${json ? JSON.stringify(line) : logLine(line, style())}\n`)
    for (const line of fresh) shown.add(keyOf(line))
    continues = commandId
    const last = lines.reduce<string | undefined>((latest, { at }) => (latest === undefined || at > latest ? at : latest), undefined)
    if (last !== undefined) {
      const since = before(last)
      forgetBefore(shown, since)
      asked = { ...asked, since, lines: mostLines }
    }
    await clock.sleep(everyMs, signal)
  }
}

const keyOf = ({ at, service, text }: LogLine): string => `${at} ${service} ${text}`

/** Times of engines have up to nine digits of a second; the first three are enough to go back by. */
const before = (at: string): string => new Date(Date.parse(at) - overlapMs).toISOString()

// Texts sort as times do down to the second: what is forgotten too late costs nothing.
function forgetBefore(shown: Set<string>, since: string): void {
  const oldest = since.slice(0, 19)
  for (const key of shown) if (key.slice(0, 19) < oldest) shown.delete(key)
}
