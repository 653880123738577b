import { type LogLine, Service } from '../../core/boxes/index.ts'
import { printable, problem } from '../../core/kit/index.ts'
import { type Context, command, count, flag, many, momentOf, type Style, text } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

type LogsQuery = Readonly<{ slug: string; services: Service[] | undefined; lines: number | undefined; since: string | undefined }>

export const logs = command(
  'logs <slug>',
  'What the services of a box print, also while an update runs',
  {
    service: many('--service <name>', 'edge, synapse, postgres or minio; several with commas (default: all)'),
    lines: count('--lines <count>', 'the newest so many (default: 200, at most 2000)'),
    since: text('--since <time>', 'only what came after: 2026-01-05T02:00:00Z, or 10m, 2h, 1d ago'),
    follow: flag('--follow', 'go on until Ctrl-C'),
  },
  async (context, { slug, service, lines, since, follow }): Promise<{ lines: LogLine[] } | undefined> => {
    const services = service.length > 0 ? service.map(serviceOf) : undefined
    const wish = { slug, services, lines, since: since === undefined ? undefined : momentOf(since, context.clock.now()) }
    if (!follow) return { lines: (await fetchLogs(context, wish)).lines }
    await followLogs(context, wish)
    return undefined
  },
  (result, style) => (result ? result.lines.map((line) => logLine(line, style)).join('\n') || 'Nothing was printed.' : ''),
  { examples: ['logs anna-schule --service synapse --since 10m', 'logs anna-schule --follow'] },
)

function serviceOf(name: string): Service {
  const { data } = Service.safeParse(name)
  if (!data) throw problem('USAGE', `${name} is no service of a box: give edge, synapse, postgres or minio`)
  return data
}

/** One question to the agent, and its answer. */
async function fetchLogs(
  context: Context,
  { slug, ...wish }: LogsQuery,
  continues?: string,
): Promise<{ commandId: string; lines: LogLine[] }> {
  const body = Object.fromEntries(Object.entries({ ...wish, continues }).filter(([, value]) => value !== undefined))
  const { commandId } = await context.api.boxes.readLogs({ params: { slug }, body })
  const { result } = await awaitAnswer(context, commandId, slug)
  return { commandId, lines: (result as { lines?: LogLine[] } | null)?.lines ?? [] }
}

/** What services print is not ours: no control character of it reaches a terminal. */
export const logLine = ({ at, service, text: said }: LogLine, { paint }: Pick<Style, 'paint'>): string =>
  `${paint.dim(printable(at).slice(0, 23))} ${printable(service).padEnd(8)} ${printable(said)}`

const everyMs = 2000
/** One service may tell later than another what it printed earlier: so much is asked for again, and what was shown is left out. */
const overlapMs = 5000
const mostLines = 2000

/** Prints what is new every two seconds, each line once, until Ctrl-C. With `--json` each line is one of JSON. */
async function followLogs(context: Context, wish: LogsQuery): Promise<void> {
  const { clock, signal, stdout, json, style } = context
  const shown = new Set<string>()
  let asked = wish
  let continues: string | undefined
  while (!signal.aborted) {
    const { commandId, lines } = await fetchLogs(context, asked, continues)
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
