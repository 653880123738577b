import { boxCommands, type LogLine, type Service } from '../../core/boxes/index.ts'
import type { CommandExecutor, ContainerEngine, LocalBox } from '../ports/index.ts'
import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'
import { logRedactor } from './redact-logs.ts'

type Deps = Readonly<{ engine: ContainerEngine; boxes: LocalBoxes }>
type Wanted = Readonly<{ services: readonly Service[]; lines: number; since?: string | undefined }>

/** Returns log lines without secrets; the caller makes them printable. */
export const logs =
  (deps: Deps): CommandExecutor<'tenant-box.logs'> =>
  async (_, input) => {
    const payload = boxCommands['tenant-box.logs'].payload.parse(input)
    const box = await boxOfCommand(deps.boxes, payload)
    const lines = await logLines(deps.engine, box, payload)
    return { lines: lines.map(await logRedactor(box)) }
  }

/** The newest raw lines of the given services, ordered by the engine's timestamps, as many as fit into one result. */
export async function logLines(engine: ContainerEngine, box: LocalBox, { services, lines, since }: Wanted): Promise<LogLine[]> {
  const containers = (await engine.containers(box.project)).filter(({ service }) => services.includes(service))
  const options = { timestamps: true, ...(since === undefined ? {} : { since }) }
  const printed = await Promise.all(
    containers.map(async ({ id, service }) => parseLog(service, await engine.logs(id, lines, options).catch(ignoreMissingContainer))),
  )
  const after = printed.flat().filter(({ at }) => since === undefined || comparable(at) > comparable(since))
  return newestThatFit(inOrder(after).slice(-lines))
}

/** By the engine's timestamps. */
export const inOrder = (lines: readonly LogLine[]): LogLine[] => lines.toSorted((a, b) => compare(comparable(a.at), comparable(b.at)))

// The log of a container recreated in the meantime is gone.
function ignoreMissingContainer(error: unknown): string {
  if (/no such container/i.test((error as Error).message)) return ''
  throw error
}

const maxTextLength = 4_000
/** Below the limit of the channel, which includes the frame. */
const maxBytes = 900_000

const parseLog = (service: Service, printed: string): LogLine[] => printed.split('\n').flatMap((line) => parseLogLine(service, line) ?? [])

/** Undefined for a line without a timestamp of the engine. */
export function parseLogLine(service: Service, line: string): LogLine | undefined {
  const [, at, text] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?(.*)$/s.exec(line) ?? []
  return at === undefined ? undefined : { at, service, text: wellFormed((text ?? '').slice(0, maxTextLength)) }
}

// The cut may split a surrogate pair.
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8')

/** Engines print up to nine fraction digits and omit trailing zeros. */
export const comparable = (time: string): string => {
  const [seconds = '', fraction = ''] = time.replace(/Z$/, '').split('.')
  return `${seconds}.${fraction.padEnd(9, '0')}`
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function newestThatFit(lines: readonly LogLine[]): LogLine[] {
  let bytes = 0
  const first = lines.findLastIndex((line) => {
    bytes += Buffer.byteLength(JSON.stringify(line)) + 1
    return bytes > maxBytes
  })
  return lines.slice(first + 1)
}
