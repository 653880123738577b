import { type LogLine, lineMatches, type Service } from '../../core/boxes/index.ts'
import { followStream } from '../../core/contract/index.ts'
import { isProblem, printable } from '../../core/kit/index.ts'
import { type Context, clean, command, count, flag, hidden, momentOf, type Style, text } from '../kit/index.ts'
import { awaitAnswer } from './await-command.ts'
import { serviceOption, servicesOf } from './services.ts'

type LogsQuery = Readonly<{
  slug: string
  services: Service[] | undefined
  lines: number | undefined
  since: string | undefined
  isShown: (line: LogLine) => boolean
}>

export const logs = command('logs <slug>', 'Show the logs of a box, also during an update', {
  options: {
    service: serviceOption,
    tail: count('--tail <count>', 'number of newest lines (default: 200, max: 2000)'),
    lines: hidden(count('--lines <count>', 'former name of --tail')),
    since: text('--since <time>', 'only lines after this time: 2026-01-05T02:00:00Z, 10m, 2h, 1d'),
    grep: text('--grep <text>', 'only lines with this text; capitals do not matter'),
    follow: flag('--follow', 'follow new lines until Ctrl-C'),
  },
  run: async (context, { slug, service, tail, lines, since, grep, follow }): Promise<{ lines: LogLine[] } | undefined> => {
    const query: LogsQuery = {
      ...{ slug, services: servicesOf(service), lines: tail ?? lines },
      since: since === undefined ? undefined : momentOf(since, context.clock.now()),
      isShown: (line) => grep === undefined || lineMatches(line, grep),
    }
    if (!follow) return { lines: await fetchLogs(context, query) }
    await followLogs(context, query)
    return undefined
  },
  view: (result, style) => (result ? result.lines.map((line) => logLine(line, style)).join('\n') || 'No log lines.' : ''),
  examples: ['logs anna-schule --service synapse --since 10m', "logs anna-schule --follow --grep 'error'"],
})

/** Requests log lines from the agent once. */
async function fetchLogs(context: Context, { slug, services, lines, since, isShown }: LogsQuery): Promise<LogLine[]> {
  const body = { ...(services ? { services } : {}), ...(lines === undefined ? {} : { lines }), ...(since === undefined ? {} : { since }) }
  const { commandId } = await context.api.boxes.readLogs({ params: { slug }, body })
  const { result } = await awaitAnswer(context, { id: commandId, slug })
  return ((result as { lines?: LogLine[] } | null)?.lines ?? []).filter(isShown)
}

/** Formats a log line without control characters, which must not reach a terminal. */
export const logLine = ({ at, service, text: message }: LogLine, { paint }: Pick<Style, 'paint'>): string =>
  `${paint.dim(printable(at).slice(0, 23))} ${printable(service).padEnd(8)} ${printable(message)}`

/** Prints new lines as they come until Ctrl-C; with `--json` one JSON object a line. A host that is away is said once, and followed again. */
async function followLogs(context: Context, { slug, services, lines, since, isShown }: LogsQuery): Promise<void> {
  const { api, clock, signal, stdout, json, style, notify } = context
  const query = {
    ...(services ? { services: services.join(',') } : {}),
    ...(lines === undefined ? {} : { lines }),
    ...(since ? { since } : {}),
  }
  let said: string | undefined
  const say = (message: string) => {
    if (said !== message) notify(clean(message))
    said = message
  }
  await followStream(
    { sleep: clock.sleep, signal, pauses: { firstMs: 500, maxMs: 5000 } },
    {
      open: (lastEventId) => api.boxes.followLogs({ params: { slug }, query }, { signal, ...(lastEventId ? { lastEventId } : {}) }),
      onOpened: () => undefined,
      onMessage: ({ data }) => {
        if (data.end) return say(data.end.message)
        said = undefined
        if (data.leftOut) notify('Lines were left out: the services write more than can be sent.')
        for (const line of data.lines.filter(isShown)) stdout.write(`${json ? JSON.stringify(line) : logLine(line, style())}\n`)
      },
      onLost: ({ error }) => {
        if (isProblem(error) && !error.retryable) throw error
        if (error) say(error instanceof Error ? error.message : String(error))
      },
      isOver: () => false,
    },
  )
}
