import { type LogLine, Service } from '../../core/boxes/index.ts'
import { printable, problem } from '../../core/kit/index.ts'
import { type Context, command, count, flag, many, momentOf, type Style, text } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'
import { followLogs } from './follow-logs.ts'

export type LogsWish = Readonly<{ slug: string; services: Service[] | undefined; lines: number | undefined; since: string | undefined }>

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
    if (!follow) return { lines: (await askLogs(context, wish)).lines }
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
export async function askLogs(
  context: Context,
  { slug, ...wish }: LogsWish,
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
