import { type LogLine, Service } from '../../core/boxes/index.ts'
import { printable, problem } from '../../core/kit/index.ts'
import { type Context, command, count, flag, hidden, many, momentOf, type Style, text } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'

type LogsQuery = Readonly<{ slug: string; services: Service[] | undefined; lines: number | undefined; since: string | undefined }>

export const logs = command('logs <slug>', 'Show the logs of a box, also during an update', {
  options: {
    service: many('--service <name>', 'edge, synapse, postgres or minio; comma-separated (default: all)'),
    tail: count('--tail <count>', 'number of newest lines (default: 200, max: 2000)'),
    lines: hidden(count('--lines <count>', 'former name of --tail')),
    since: text('--since <time>', 'only lines after this time: 2026-01-05T02:00:00Z, 10m, 2h, 1d'),
    follow: flag('--follow', 'follow new lines until Ctrl-C'),
  },
  run: async (context, { slug, service, tail, lines, since, follow }): Promise<{ lines: LogLine[] } | undefined> => {
    const services = service.length > 0 ? service.map(serviceOf) : undefined
    const wish = { slug, services, lines: tail ?? lines, since: since === undefined ? undefined : momentOf(since, context.clock.now()) }
    if (!follow) return { lines: (await fetchLogs(context, wish)).lines }
    await followLogs(context, wish)
    return undefined
  },
  view: (result, style) => (result ? result.lines.map((line) => logLine(line, style)).join('\n') || 'No log lines.' : ''),
  examples: ['logs anna-schule --service synapse --since 10m', 'logs anna-schule --follow'],
})

function serviceOf(name: string): Service {
  const { data } = Service.safeParse(name)
  if (!data) throw problem('USAGE', `unknown service ${name}. fix: edge, synapse, postgres or minio`)
  return data
}

/** Requests log lines from the agent once. */
async function fetchLogs(
  context: Context,
  { slug, ...wish }: LogsQuery,
  continues?: string,
): Promise<{ commandId: string; lines: LogLine[] }> {
  const body = Object.fromEntries(Object.entries({ ...wish, continues }).filter(([, value]) => value !== undefined))
  const { commandId } = await context.api.boxes.readLogs({ params: { slug }, body })
  const { result } = await awaitAnswer(context, { id: commandId, slug })
  return { commandId, lines: (result as { lines?: LogLine[] } | null)?.lines ?? [] }
}

/** Formats a log line without control characters, which must not reach a terminal. */
export const logLine = ({ at, service, text: message }: LogLine, { paint }: Pick<Style, 'paint'>): string =>
  `${paint.dim(printable(at).slice(0, 23))} ${printable(service).padEnd(8)} ${printable(message)}`

const everyMs = 2000
/** Services report with different delays: each poll reads this overlap again and skips shown lines. */
const overlapMs = 5000
const maxLines = 2000

/** Prints new lines every two seconds, each once, until Ctrl-C; with `--json` one JSON object a line. */
async function followLogs(context: Context, wish: LogsQuery): Promise<void> {
  const { clock, signal, stdout, json, style } = context
  const shown = new Set<string>()
  let query = wish
  let continues: string | undefined
  while (!signal.aborted) {
    const { commandId, lines } = await fetchLogs(context, query, continues)
    const fresh = lines.filter((line) => !shown.has(keyOf(line)))
    for (const line of fresh) stdout.write(`${json ? JSON.stringify(line) : logLine(line, style())}\n`)
    for (const line of fresh) shown.add(keyOf(line))
    continues = commandId
    const last = lines.reduce<string | undefined>((latest, { at }) => (latest === undefined || at > latest ? at : latest), undefined)
    if (last !== undefined) {
      const since = before(last)
      dropBefore(shown, since)
      query = { ...query, since, lines: maxLines }
    }
    await clock.sleep(everyMs, signal)
  }
}

const keyOf = ({ at, service, text }: LogLine): string => `${at} ${service} ${text}`

/** Engine times have up to nine fractional digits; milliseconds are enough here. */
const before = (at: string): string => new Date(Date.parse(at) - overlapMs).toISOString()

// Keys sort as times down to the second; a key that is deleted too late does no harm.
function dropBefore(shown: Set<string>, since: string): void {
  const oldest = since.slice(0, 19)
  for (const key of shown) if (key.slice(0, 19) < oldest) shown.delete(key)
}
